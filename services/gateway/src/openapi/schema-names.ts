import { uploadAgents } from "@switchyard/contracts/skill-importer/agent-store";
import { AgentDefinition } from "@switchyard/contracts/skill-importer/agents";
import { Approval, SessionGrant } from "@switchyard/contracts/policy/approval-record";
import { denyCall } from "@switchyard/contracts/policy/approvals";
import { ChatLink } from "@switchyard/contracts/policy/chat-links";
import {
  Address,
  AddressInput,
  Capabilities as ChannelCapabilities,
  Target as ChannelTarget,
} from "@switchyard/contracts/channels/channel-address";
import {
  Changes,
  Provenance,
  SentFile,
} from "@switchyard/contracts/skill-importer/definition-store";
import { Timestamp } from "@switchyard/contracts/ids";
import { listTools } from "@switchyard/contracts/mcp-broker/mcp";
import { ToolFinding, ToolPin } from "@switchyard/contracts/mcp-broker/mcp-pins";
import { Question, QuestionChoice } from "@switchyard/contracts/mcp-broker/mcp-questions";
import { addServer, ServerInfo } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { Plan, PlanCondition } from "@switchyard/contracts/agent-runner/plan";
import { Decision, Principal, ServerFacts } from "@switchyard/contracts/policy/policy";
import { Stop, StopScope } from "@switchyard/contracts/policy/policy-budgets";
import { activatePolicy, PolicyVersion } from "@switchyard/contracts/policy/policy-bundles";
import { RuleMismatch } from "@switchyard/contracts/policy/policy-explain";
import { PolicyProblem, PolicyTextFile } from "@switchyard/contracts/policy/policy-texts";
import { RecordedAnswer, RecordedSummary } from "@switchyard/contracts/agent-runner/recording";
import { RunContext } from "@switchyard/contracts/agent-runner/run-context";
import { RunFailure, RunInput, RunLimits } from "@switchyard/contracts/agent-runner/runs";
import {
  addSchedule,
  JobDelivery,
  JobPayload,
  JobSchedule,
  ScheduleJob,
  scheduleRuns,
} from "@switchyard/contracts/scheduler/schedules";
import { getSession, Session, SessionMessage } from "@switchyard/contracts/agent-runner/sessions";
import {
  CapabilityUse,
  ScanFinding,
  ScanReport,
} from "@switchyard/contracts/skill-importer/skill-scan";
import { removeSkill, uploadSkills } from "@switchyard/contracts/skill-importer/skill-store";
import {
  Conformance,
  Diagnostic,
  importSkills,
  listSkills,
  renderSkill,
} from "@switchyard/contracts/skill-importer/skills";
import { ToolRef } from "@switchyard/contracts/tool-names";
import { UserSession } from "@switchyard/contracts/policy/user-sessions";
import { createUserKey, UserKey } from "@switchyard/contracts/policy/user-tokens";
import { explainedSchema } from "@switchyard/contracts/explain/explained-schema";
import { routes } from "../routes/route-table.ts";
import { Me } from "../routes/me.ts";
import { System } from "../routes/system.ts";
import { KeptWebhook, Webhook } from "../routes/webhook-operations.ts";
import { z } from "zod";
import { keyText } from "./shared-schemas.ts";

/** The answer to a command: see `AcceptedCommand` in `http/accept-command.ts`. */
export const AcceptedCommand = z.object({ runId: z.string(), sequence: z.int() });

/** Names in openapi.json of schemas that occur in it more than once. A schema that is not listed is named after its position. */
export const namedSchemas = {
  Address,
  ChatLink,
  AddressInput,
  AgentDefinition,
  AgentsUploaded: uploadAgents.reply,
  Approval,
  ApprovalEnded: denyCall.reply,
  CapabilityUse,
  ChannelCapabilities,
  ChannelTarget,
  Changes,
  Conformance,
  Decision,
  Diagnostic,
  GitCheckout: Provenance.shape.git.unwrap(),
  JobDelivery,
  JobPayload,
  JobSchedule,
  NewUserKey: createUserKey.reply,
  Plan,
  PlanCondition,
  PolicyActivated: activatePolicy.reply,
  PolicyProblem,
  PolicyTextFile,
  PolicyVersion,
  Principal,
  Provenance,
  Question,
  QuestionChoice,
  RecordedAnswer,
  RecordedSummary,
  RecordedUsage: RecordedAnswer.shape.usage,
  RuleMismatch,
  RunContext,
  RunFailure,
  RunInput,
  RunLimits,
  ScanFinding,
  ScanReport,
  ScheduleJob,
  ScheduleJobReply: addSchedule.reply,
  ScheduleRuns: scheduleRuns.reply,
  SentFile,
  ServerFacts,
  ServerInfo,
  ServerReply: addServer.reply,
  Session,
  SessionGrant,
  SessionMessage,
  SessionReply: getSession.reply,
  SkillInstructions: renderSkill.reply,
  SkillRemoved: removeSkill.reply,
  Skills: listSkills.reply,
  SkillsImported: importSkills.reply,
  SkillsUploaded: uploadSkills.reply,
  Stop,
  StopScope,
  Timestamp,
  ToolFinding,
  ToolFindingCode: ToolFinding.shape.code,
  ToolPin,
  ToolRef,
  Tools: listTools.reply,
  UserKey,
  UserSession,
  AcceptedCommand,
  Webhook,
} satisfies Readonly<Record<string, z.ZodType>>;

/** Names of the gateway's own schemas, under which their properties are described. */
export const ownSchemaNames: ReadonlyMap<z.ZodType, string> = new Map<z.ZodType, string>([
  [AcceptedCommand, "AcceptedCommand"],
  [KeptWebhook, "KeptWebhook"],
  [Me, "Me"],
  [System, "System"],
  [Webhook, "Webhook"],
]);

/** Maps the text of each schema in openapi.json to its name: the schemas of a request and of an answer may differ by a default. */
export function schemaNames(): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [name, schema] of Object.entries(namedSchemas))
    for (const io of ["output", "input"] as const) {
      const place = replyPlace(schema) ?? name;
      const json = explainedSchema(schema, { io, place, names: ownSchemaNames });
      names.set(keyText(json), name);
    }
  return names;
}

/** Returns the place under which the properties of a contract's reply are described; undefined for another schema. */
function replyPlace(schema: z.ZodType): string | undefined {
  const route = routes.find(({ contract }) => contract.kind === "rpc" && contract.reply === schema);
  return route && `${route.contract.name}.reply`;
}
