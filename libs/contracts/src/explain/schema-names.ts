import { z } from "zod";
import * as agentMemory from "../toolbox/agent-memory.ts";
import * as agentStore from "../skill-importer/agent-store.ts";
import * as agents from "../skill-importer/agents.ts";
import * as approvalRecord from "../policy/approval-record.ts";
import * as approvalTier from "../policy/approval-tier.ts";
import * as approvalVotes from "../policy/approval-votes.ts";
import * as auditQueries from "../policy/audit-queries.ts";
import * as auditRef from "../policy/audit-ref.ts";
import * as auditSignatures from "../policy/audit-signatures.ts";
import * as audit from "../policy/audit.ts";
import * as callContext from "../agent-runner/call-context.ts";
import * as channelAddress from "../channels/channel-address.ts";
import * as channelEvents from "../channels/channel-events.ts";
import * as channels from "../channels/channels.ts";
import * as chatLinks from "../policy/chat-links.ts";
import * as chatQuestions from "../policy/chat-questions.ts";
import * as contentParts from "../agent-runner/content-parts.ts";
import * as definitionStore from "../skill-importer/definition-store.ts";
import * as ids from "../ids.ts";
import * as ifVersion from "../if-version.ts";
import * as listCursor from "../list-cursor.ts";
import * as mcpAuth from "../mcp-broker/mcp-auth.ts";
import * as mcpCalls from "../mcp-broker/mcp-calls.ts";
import * as mcpFeatures from "../mcp-broker/mcp-features.ts";
import * as mcpOwnership from "../mcp-broker/mcp-ownership.ts";
import * as mcpPins from "../mcp-broker/mcp-pins.ts";
import * as mcpQuestions from "../mcp-broker/mcp-questions.ts";
import * as mcpSecrets from "../mcp-broker/mcp-secrets.ts";
import * as mcpServers from "../mcp-broker/mcp-servers.ts";
import * as mcp from "../mcp-broker/mcp.ts";
import * as modelCompletion from "../agent-runner/model-completion.ts";
import * as models from "../agent-runner/models.ts";
import * as plan from "../agent-runner/plan.ts";
import * as policyBudgets from "../policy/policy-budgets.ts";
import * as policyBundles from "../policy/policy-bundles.ts";
import * as policyExplain from "../policy/policy-explain.ts";
import * as policyGrants from "../policy/policy-grants.ts";
import * as policyReplay from "../policy/policy-replay.ts";
import * as policyTexts from "../policy/policy-texts.ts";
import * as policy from "../policy/policy.ts";
import * as recordedValues from "../policy/recorded-values.ts";
import * as recording from "../agent-runner/recording.ts";
import * as restarts from "../restarts.ts";
import * as runClaims from "../policy/run-claims.ts";
import * as runCommands from "../agent-runner/run-commands.ts";
import * as runContext from "../agent-runner/run-context.ts";
import * as runFollowUp from "../agent-runner/run-follow-up.ts";
import * as runHistory from "../agent-runner/run-history.ts";
import * as runRecordings from "../agent-runner/run-recordings.ts";
import * as runToken from "../policy/run-token.ts";
import * as runDeletion from "../agent-runner/run-deletion.ts";
import * as runTotals from "../agent-runner/run-totals.ts";
import * as runWaits from "../agent-runner/run-waits.ts";
import * as runs from "../agent-runner/runs.ts";
import * as sampling from "../mcp-broker/sampling.ts";
import * as schedules from "../scheduler/schedules.ts";
import * as sessionKey from "../agent-runner/session-key.ts";
import * as sessions from "../agent-runner/sessions.ts";
import * as skillCatalogue from "../skill-importer/skill-catalogue.ts";
import * as skillRecord from "../skill-importer/skill-record.ts";
import * as skillScan from "../skill-importer/skill-scan.ts";
import * as skillStore from "../skill-importer/skill-store.ts";
import * as skills from "../skill-importer/skills.ts";
import * as storeErrors from "../store-errors.ts";
import * as thinking from "../agent-runner/thinking.ts";
import * as toolNames from "../tool-names.ts";
import * as toolbox from "../toolbox/toolbox.ts";
import * as userRoles from "../user-roles.ts";
import * as userSessions from "../policy/user-sessions.ts";
import * as userTokens from "../policy/user-tokens.ts";

/** The modules that export schemas. */
const modules: readonly object[] = [
  agentMemory,
  agentStore,
  agents,
  approvalRecord,
  approvalTier,
  approvalVotes,
  auditQueries,
  auditRef,
  auditSignatures,
  audit,
  callContext,
  channelAddress,
  channelEvents,
  channels,
  chatLinks,
  chatQuestions,
  contentParts,
  definitionStore,
  ids,
  ifVersion,
  listCursor,
  mcpAuth,
  mcpCalls,
  mcpFeatures,
  mcpOwnership,
  mcpPins,
  mcpQuestions,
  mcpSecrets,
  mcpServers,
  mcp,
  modelCompletion,
  models,
  plan,
  policyBudgets,
  policyBundles,
  policyExplain,
  policyGrants,
  policyReplay,
  policyTexts,
  policy,
  recordedValues,
  recording,
  restarts,
  runClaims,
  runCommands,
  runContext,
  runFollowUp,
  runHistory,
  runRecordings,
  runToken,
  runTotals,
  runDeletion,
  runWaits,
  runs,
  sampling,
  schedules,
  sessionKey,
  sessions,
  skillCatalogue,
  skillRecord,
  skillScan,
  skillStore,
  skills,
  storeErrors,
  thinking,
  toolNames,
  toolbox,
  userRoles,
  userSessions,
  userTokens,
];

let names: ReadonlyMap<z.ZodType, string> | null = null;

/** Returns the names under which `libs/contracts` exports schemas, by schema. */
export function schemaNames(): ReadonlyMap<z.ZodType, string> {
  names ??= new Map(
    modules
      .flatMap((module) => Object.entries(module))
      .flatMap(([name, value]) => (value instanceof z.ZodType ? [[value, name] as const] : [])),
  );
  return names;
}
