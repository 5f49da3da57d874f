import * as agentMemory from "./toolbox/agent-memory.ts";
import * as agentStore from "./skill-importer/agent-store.ts";
import * as agents from "./skill-importer/agents.ts";
import * as approvalAdmission from "./policy/approval-admission.ts";
import * as approvalEvents from "./policy/approval-events.ts";
import * as approvals from "./policy/approvals.ts";
import * as auditQueries from "./policy/audit-queries.ts";
import * as audit from "./policy/audit.ts";
import * as callContext from "./agent-runner/call-context.ts";
import * as channelEvents from "./channels/channel-events.ts";
import * as channels from "./channels/channels.ts";
import * as chatLinks from "./policy/chat-links.ts";
import * as chatQuestions from "./policy/chat-questions.ts";
import {
  tokensOf,
  type Command,
  type Contract,
  type Event,
  type Live,
  type Rpc,
} from "./define.ts";
import * as files from "./agent-runner/files.ts";
import * as mcp from "./mcp-broker/mcp.ts";
import * as mcpServers from "./mcp-broker/mcp-servers.ts";
import * as mcpSecrets from "./mcp-broker/mcp-secrets.ts";
import * as mcpAuth from "./mcp-broker/mcp-auth.ts";
import * as mcpPins from "./mcp-broker/mcp-pins.ts";
import * as mcpOwnership from "./mcp-broker/mcp-ownership.ts";
import * as mcpCalls from "./mcp-broker/mcp-calls.ts";
import * as mcpFeatures from "./mcp-broker/mcp-features.ts";
import * as mcpQuestions from "./mcp-broker/mcp-questions.ts";
import * as modelCompletion from "./agent-runner/model-completion.ts";
import * as models from "./agent-runner/models.ts";
import * as policy from "./policy/policy.ts";
import * as policyBudgets from "./policy/policy-budgets.ts";
import * as policyBundles from "./policy/policy-bundles.ts";
import * as policyExplain from "./policy/policy-explain.ts";
import * as policyGrants from "./policy/policy-grants.ts";
import * as policyTexts from "./policy/policy-texts.ts";
import * as policyReplay from "./policy/policy-replay.ts";
import * as refusedTokens from "./policy/refused-tokens.ts";
import { restartRunner, restartScheduler } from "./restarts.ts";
import * as runCommandContracts from "./agent-runner/run-commands.ts";
import * as runDeletion from "./agent-runner/run-deletion.ts";
import * as runEvents from "./agent-runner/run-events.ts";
import * as runHistory from "./agent-runner/run-history.ts";
import * as runRecordings from "./agent-runner/run-recordings.ts";
import * as runTotals from "./agent-runner/run-totals.ts";
import * as runWaits from "./agent-runner/run-waits.ts";
import * as runs from "./agent-runner/runs.ts";
import * as scheduleEvents from "./scheduler/schedule-events.ts";
import * as schedules from "./scheduler/schedules.ts";
import * as sessionGrants from "./policy/session-grants.ts";
import * as sessionEvents from "./agent-runner/session-events.ts";
import * as sessionDelivery from "./agent-runner/session-delivery.ts";
import * as sessionClaims from "./agent-runner/session-claims.ts";
import * as sessions from "./agent-runner/sessions.ts";
import * as skillCatalogue from "./skill-importer/skill-catalogue.ts";
import * as skillStore from "./skill-importer/skill-store.ts";
import * as skills from "./skill-importer/skills.ts";
import * as toolbox from "./toolbox/toolbox.ts";
import * as userSessions from "./policy/user-sessions.ts";
import * as userTokens from "./policy/user-tokens.ts";

const functionNames = new Map<Contract, string>([
  [restartRunner, "restartRunner"],
  [restartScheduler, "restartScheduler"],
]);

/** Every contract, by the service that owns it: the source of permissions, AsyncAPI and the subject table. */
export const contractsByOwner = {
  policy: [
    ...contractsOf(policy),
    ...contractsOf(policyGrants),
    ...contractsOf(policyExplain),
    ...contractsOf(policyTexts),
    ...contractsOf(policyBundles),
    ...contractsOf(policyBudgets),
    ...contractsOf(policyReplay),
    ...contractsOf(approvals),
    ...contractsOf(approvalAdmission),
    ...contractsOf(sessionGrants),
    ...contractsOf(approvalEvents),
    ...contractsOf(refusedTokens),
    ...contractsOf(userTokens),
    ...contractsOf(userSessions),
    ...contractsOf(chatLinks),
    ...contractsOf(chatQuestions),
    ...contractsOf(auditQueries),
  ],
  "mcp-broker": [
    ...contractsOf(mcp),
    ...contractsOf(mcpServers),
    ...contractsOf(mcpSecrets),
    ...contractsOf(mcpPins),
    ...contractsOf(mcpAuth),
    ...contractsOf(mcpCalls),
    ...contractsOf(mcpOwnership),
    ...contractsOf(mcpFeatures),
    ...contractsOf(mcpQuestions),
  ],
  "skill-importer": [
    ...contractsOf(skills),
    ...contractsOf(skillStore),
    ...contractsOf(skillCatalogue),
    ...contractsOf(agents),
    ...contractsOf(agentStore),
  ],
  "agent-runner": [
    ...contractsOf(runs),
    ...contractsOf(runCommandContracts),
    ...contractsOf(files),
    ...contractsOf(runRecordings),
    ...contractsOf(runHistory),
    ...contractsOf(runWaits),
    ...contractsOf(runTotals),
    ...contractsOf(runDeletion),
    ...contractsOf(callContext),
    ...contractsOf(models),
    ...contractsOf(modelCompletion),
    ...contractsOf(runEvents),
    ...contractsOf(sessionClaims),
    ...contractsOf(sessions),
    ...contractsOf(sessionEvents),
    ...contractsOf(sessionDelivery),
    restartRunner,
  ],
  scheduler: [...contractsOf(schedules), ...contractsOf(scheduleEvents), restartScheduler],
  toolbox: [...contractsOf(toolbox), ...contractsOf(agentMemory)],
  channels: [...contractsOf(channels), ...contractsOf(channelEvents)],
  /** The contracts of every service that decides about calls or makes them. */
  "audit writers": contractsOf(audit),
} as const satisfies Record<string, readonly Contract[]>;

export type Owner = keyof typeof contractsByOwner;

export const allContracts: readonly Contract[] = Object.values(contractsByOwner).flat();

export const isRpc = (contract: Contract): contract is Rpc => contract.kind === "rpc";
export const isCommand = (contract: Contract): contract is Command => contract.kind === "command";
export const isEvent = (contract: Contract): contract is Event => contract.kind === "event";
export const isLive = (contract: Contract): contract is Live => contract.kind === "live";

const eventsByName = new Map(allContracts.filter(isEvent).map((event) => [event.name, event]));

/** The event contract of a concrete subject, or null for a subject that no contract declares. */
export function eventOfSubject(subject: string): Event | null {
  const parts = subject.split(".");
  const event = eventsByName.get(`${parts[2]}.${parts.at(-1)}`) ?? null;
  return event !== null && tokensOf(event, subject) !== null ? event : null;
}

/** The name under which a contract is exported, such as `startRun`; undefined for one of another package. */
export function functionNameOf(contract: Contract): string | undefined {
  return functionNames.get(contract);
}

function contractsOf(module: Record<string, unknown>): Contract[] {
  const contracts = Object.entries(module).filter(isNamedContract);
  for (const [name, contract] of contracts) functionNames.set(contract, name);
  return contracts.map(([, contract]) => contract);
}

function isNamedContract(entry: [string, unknown]): entry is [string, Contract] {
  return isContract(entry[1]);
}

function isContract(value: unknown): value is Contract {
  return typeof value === "object" && value !== null && "kind" in value && "subject" in value;
}
