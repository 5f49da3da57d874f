import { z } from "zod";
import * as agentMemory from "../agent-memory.ts";
import * as agentStore from "../agent-store.ts";
import * as agents from "../agents.ts";
import * as approvalRecord from "../approval-record.ts";
import * as approvalTier from "../approval-tier.ts";
import * as approvalVotes from "../approval-votes.ts";
import * as auditQueries from "../audit-queries.ts";
import * as auditRef from "../audit-ref.ts";
import * as auditSignatures from "../audit-signatures.ts";
import * as audit from "../audit.ts";
import * as callContext from "../call-context.ts";
import * as channelAddress from "../channel-address.ts";
import * as channelEvents from "../channel-events.ts";
import * as channels from "../channels.ts";
import * as chatLinks from "../chat-links.ts";
import * as contentParts from "../content-parts.ts";
import * as definitionStore from "../definition-store.ts";
import * as ids from "../ids.ts";
import * as ifVersion from "../if-version.ts";
import * as listCursor from "../list-cursor.ts";
import * as mcpAuth from "../mcp-auth.ts";
import * as mcpCalls from "../mcp-calls.ts";
import * as mcpFeatures from "../mcp-features.ts";
import * as mcpOwnership from "../mcp-ownership.ts";
import * as mcpPins from "../mcp-pins.ts";
import * as mcpQuestions from "../mcp-questions.ts";
import * as mcpServers from "../mcp-servers.ts";
import * as mcp from "../mcp.ts";
import * as modelCompletion from "../model-completion.ts";
import * as models from "../models.ts";
import * as plan from "../plan.ts";
import * as policyBudgets from "../policy-budgets.ts";
import * as policyBundles from "../policy-bundles.ts";
import * as policyExplain from "../policy-explain.ts";
import * as policyGrants from "../policy-grants.ts";
import * as policyReplay from "../policy-replay.ts";
import * as policyTexts from "../policy-texts.ts";
import * as policy from "../policy.ts";
import * as recording from "../recording.ts";
import * as restarts from "../restarts.ts";
import * as runClaims from "../run-claims.ts";
import * as runCommands from "../run-commands.ts";
import * as runContext from "../run-context.ts";
import * as runFollowUp from "../run-follow-up.ts";
import * as runRecordings from "../run-recordings.ts";
import * as runToken from "../run-token.ts";
import * as runTotals from "../run-totals.ts";
import * as runWaits from "../run-waits.ts";
import * as runs from "../runs.ts";
import * as sampling from "../sampling.ts";
import * as schedules from "../schedules.ts";
import * as sessionKey from "../session-key.ts";
import * as sessions from "../sessions.ts";
import * as skillCatalogue from "../skill-catalogue.ts";
import * as skillRecord from "../skill-record.ts";
import * as skillScan from "../skill-scan.ts";
import * as skillStore from "../skill-store.ts";
import * as skills from "../skills.ts";
import * as storeErrors from "../store-errors.ts";
import * as thinking from "../thinking.ts";
import * as toolNames from "../tool-names.ts";
import * as toolbox from "../toolbox.ts";
import * as userRoles from "../user-roles.ts";
import * as userSessions from "../user-sessions.ts";
import * as userTokens from "../user-tokens.ts";

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
  recording,
  restarts,
  runClaims,
  runCommands,
  runContext,
  runFollowUp,
  runRecordings,
  runToken,
  runTotals,
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
