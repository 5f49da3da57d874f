import { recallMemory } from "@switchyard/contracts/toolbox/agent-memory";
import * as agents from "@switchyard/contracts/skill-importer/agents";
import * as approvalAdmission from "@switchyard/contracts/policy/approval-admission";
import * as approvalEvents from "@switchyard/contracts/policy/approval-events";
import * as approvals from "@switchyard/contracts/policy/approvals";
import { exportAudit } from "@switchyard/contracts/policy/audit-queries";
import {
  auditAccess,
  auditApproval,
  auditChain,
  auditDecision,
  auditExecution,
} from "@switchyard/contracts/policy/audit";
import * as channels from "@switchyard/contracts/channels/channels";
import {
  approvalsForChats,
  claimChatLink,
  decideInChat,
} from "@switchyard/contracts/policy/chat-links";
import { answerInChat, questionsForChats } from "@switchyard/contracts/policy/chat-questions";
import { deliverFile } from "@switchyard/contracts/agent-runner/files";
import { findAgentOfRun } from "@switchyard/contracts/agent-runner/run-history";
import { readCallContext } from "@switchyard/contracts/agent-runner/call-context";
import { callableByClients, callableByTeams } from "./client-rpcs.ts";
import type { Command, Event, Live, Rpc } from "@switchyard/contracts/define";
import * as mcp from "@switchyard/contracts/mcp-broker/mcp";
import * as mcpOwnership from "@switchyard/contracts/mcp-broker/mcp-ownership";
import * as mcpQuestions from "@switchyard/contracts/mcp-broker/mcp-questions";
import { callProgress, cancelCall, cancelCallAt } from "@switchyard/contracts/mcp-broker/mcp-calls";
import { serverMessage } from "@switchyard/contracts/mcp-broker/mcp-features";
import { completeModel } from "@switchyard/contracts/agent-runner/model-completion";
import * as policy from "@switchyard/contracts/policy/policy";
import * as policyBudgets from "@switchyard/contracts/policy/policy-budgets";
import * as policyBundles from "@switchyard/contracts/policy/policy-bundles";
import { grantRun, listTokenKeys } from "@switchyard/contracts/policy/policy-grants";
import { replayDecisions } from "@switchyard/contracts/policy/policy-replay";
import { restartRunner, restartScheduler } from "@switchyard/contracts/restarts";
import { beginRun, resumeRun, spawnRun } from "@switchyard/contracts/agent-runner/run-commands";
import {
  questionAnswered,
  questionRequested,
  runCancelled,
  runEnds,
  runLive,
  runRejected,
} from "@switchyard/contracts/agent-runner/run-events";
import * as runWaits from "@switchyard/contracts/agent-runner/run-waits";
import {
  deliverToSession,
  noteInSession,
  sessionOutcome,
} from "@switchyard/contracts/agent-runner/session-delivery";
import { sessionEnded } from "@switchyard/contracts/agent-runner/session-events";
import { getRun, requestCancel } from "@switchyard/contracts/agent-runner/runs";
import * as schedules from "@switchyard/contracts/scheduler/schedules";
import * as sessions from "@switchyard/contracts/agent-runner/sessions";
import * as skillCatalogue from "@switchyard/contracts/skill-importer/skill-catalogue";
import * as skills from "@switchyard/contracts/skill-importer/skills";
import * as toolbox from "@switchyard/contracts/toolbox/toolbox";
import {
  ADMIN_USER,
  ANONYMOUS_USER,
  AUDITOR_USER,
  CLI_USER,
  GATEWAY_USER,
  OIDC_PREFIX,
  OPERATOR_USER,
  RUNNER_USER,
  SCHEDULER_USER,
  TOOLBOX_USER,
  type ServiceName,
} from "@switchyard/contracts/user-names";
import * as userSessions from "@switchyard/contracts/policy/user-sessions";
import * as userTokens from "@switchyard/contracts/policy/user-tokens";
import {
  allContracts,
  contractsByOwner,
  isCommand,
  isEvent,
  isRpc,
} from "@switchyard/contracts/registry";
import { approvalCommands, runCommands, type ConsumerDefinition } from "./streams.ts";

/**
 * The NATS users and the messages between them. Each entry is one user; the server's permissions are generated from it, so a call that is
 * not listed here is refused by the server.
 */
export interface BusUser {
  /** The user's name: its `{caller}` token, and the stem of its inbox. */
  readonly name: string;
  readonly description: string;
  readonly serves: readonly Rpc[];
  readonly calls: readonly Rpc[];
  readonly publishes: readonly (Command | Event | Live)[];
  /** Commands that it sets timers for: they come into the queue under its name when they are due. */
  readonly schedules: readonly Command[];
  /** Work queues it takes messages from. */
  readonly consumes: readonly ConsumerDefinition[];
  /** Events and live messages that it receives as they are published; one that it misses is lost for it. */
  readonly follows: readonly (Event | Live)[];
  /** Subscriptions of an installation outside the contracts: the sources of triggers. */
  readonly foreignSources: readonly ForeignSource[];
  /** Subjects outside the contracts that it may publish to. */
  readonly sends: readonly string[];
  /** The events that it may read, and live messages with them: those of all users, or those that are its own by their subject. */
  readonly readsEvents: "all" | "own" | "none";
  /** True when it reads all users' events and only its own live messages. */
  readonly readsOwnLive: boolean;
  /** True when it may query the last stored event of a subject. */
  readonly looksUpEvents: boolean;
  /** True when it may delete events by their subjects. */
  readonly deletesEvents: boolean;
  /** True when it may query how long streams and work queues are. */
  readonly readsQueues: boolean;
  /** True when it stores, reads and deletes the files of inputs and the archive of runs. */
  readonly storesFiles: boolean;
  /** True when it may read the audit. */
  readonly readsAudit: boolean;
  /** True when it creates streams, consumers and buckets. */
  readonly administersStreams: boolean;
  /** True when it changes how long and how much of the audit is stored. */
  readonly retainsAudit: boolean;
  /** Prefix of its inbox subjects; only the anonymous user of a laptop has the clients' default. */
  readonly inboxPrefix: string;
}

/** Messages outside the contracts: on a subject, which may have wildcards, or under it in a JetStream stream. */
export interface ForeignSource {
  readonly subject: string;
  /** The stream, and the durable consumer that they are read with. Null: they are received as they are published. */
  readonly stored: { readonly stream: string; readonly consumer: string } | null;
}

/** The rpcs that a tool provider calls at the policy. */
const providerRpcs = [
  policy.checkPolicy,
  policy.filterPolicy,
  policyBudgets.releaseCall,
  approvalAdmission.admitCall,
  approvalAdmission.settleCall,
  policyBudgets.listStops,
] as const;
/** The rpcs that the platform tools call, for the caller of the tool and under its name. */
const platformRpcs = [
  agents.listAgents,
  requestCancel,
  getRun,
  sessions.listSessions,
  sessions.getSession,
  sessions.sessionHistory,
  sessions.sendToSession,
  sessions.patchSession,
  channels.sendChannelMessage,
  channels.broadcastChannelMessage,
  channels.reactToMessage,
  channels.deleteChannelMessage,
  channels.pinMessage,
  channels.readChannelMessages,
  channels.resolveTarget,
  channels.listChannelAccounts,
  schedules.scheduleStatus,
  schedules.listSchedules,
  schedules.getSchedule,
  schedules.addSchedule,
  schedules.updateSchedule,
  schedules.removeSchedule,
  schedules.runSchedule,
  schedules.scheduleRuns,
] as const;
/** Commands that only services send, and that are trusted because no other user may. */
const internalCommands: ReadonlySet<Command> = new Set<Command>([
  spawnRun,
  beginRun,
  approvalEvents.expireApproval,
]);
const clientCommands = allContracts
  .filter(isCommand)
  .filter((contract) => !internalCommands.has(contract));

export const serviceUsers: readonly BusUser[] = [
  service("policy", "Policy service", {
    serves: contractsByOwner.policy.filter(isRpc),
    calls: [
      // Its approvals show it to the approver; no decision of its own depends on it.
      readCallContext,
      // It passes on what linked persons answer in chats, in the name of their callers.
      runWaits.listQuestionsForChats,
      runWaits.answerForUser,
      mcpQuestions.listQuestionsForChats,
      mcpQuestions.answerForUser,
    ],
    publishes: [
      ...contractsByOwner.policy.filter(isEvent),
      auditDecision,
      auditApproval,
      // It records which persons of chats were linked.
      auditAccess,
      auditChain,
    ],
    schedules: [approvalEvents.expireApproval],
    consumes: [approvalCommands],
    follows: [policyBundles.bundleActivated, policyBudgets.callsStopped, runCancelled],
    // It serves admins over HTTP, whom it identifies itself.
    readsAudit: true,
  }),
  service("broker", "MCP broker", {
    serves: contractsByOwner["mcp-broker"].filter(isRpc),
    calls: [
      ...providerRpcs,
      mcpOwnership.askOwner,
      cancelCallAt,
      completeModel,
      userTokens.verifyUserToken,
    ],
    publishes: [
      ...contractsByOwner["mcp-broker"].filter(isEvent),
      mcpOwnership.serverHint,
      callProgress,
      serverMessage,
      auditExecution,
      auditChain,
    ],
    follows: [
      mcpOwnership.serverHint,
      ...runEnds,
      sessionEnded,
      policyBundles.bundleActivated,
      policyBudgets.callsStopped,
    ],
  }),
  service("importer", "Skill importer", {
    serves: contractsByOwner["skill-importer"].filter(isRpc),
    calls: [userTokens.verifyUserToken],
    publishes: contractsByOwner["skill-importer"].filter(isEvent),
  }),
  service(RUNNER_USER, "Agent runner", {
    serves: contractsByOwner["agent-runner"].filter(isRpc),
    calls: [
      grantRun,
      // It is the tool provider of `agent`.
      policy.checkPolicy,
      policy.filterPolicy,
      policyBudgets.releaseCall,
      approvalAdmission.admitCall,
      approvalAdmission.settleCall,
      approvals.approvalStates,
      policyBudgets.listStops,
      mcp.listTools,
      mcp.callTool,
      mcpOwnership.ensureServer,
      cancelCall,
      toolbox.listBuiltins,
      recallMemory,
      toolbox.callBuiltin,
      toolbox.cancelBuiltin,
      skills.listSkills,
      skills.getSkill,
      skills.renderSkill,
      skillCatalogue.skillCatalogue,
      agents.getAgent,
      // An agent's message to the people of its session after a conversation with another one.
      channels.sendChannelMessage,
      userTokens.verifyUserToken,
    ],
    publishes: [
      ...contractsByOwner["agent-runner"].filter(isEvent),
      runLive,
      spawnRun,
      resumeRun,
      sessions.proceedSession,
      // It records its starts as a tool provider does; and which user had a dead command sent again.
      auditExecution,
      auditAccess,
      auditChain,
    ],
    schedules: [resumeRun],
    follows: [
      approvalEvents.approvalDecided,
      approvalEvents.approvalVoted,
      approvalEvents.approvalEscalated,
      approvalEvents.approvalExpired,
      policyBudgets.callsResumed,
    ],
    consumes: [runCommands],
    // Needed to store each event of a run once, whichever runner has the run.
    looksUpEvents: true,
    // The events of a run that was deleted by request have its texts.
    deletesEvents: true,
    storesFiles: true,
  }),
  service(TOOLBOX_USER, "Built-in tools", {
    serves: contractsByOwner.toolbox.filter(isRpc),
    calls: [
      ...providerRpcs,
      toolbox.cancelBuiltinAt,
      userTokens.verifyUserToken,
      userTokens.actForUser,
      ...platformRpcs,
      restartRunner,
      restartScheduler,
    ],
    // Needed to list the processes that can be restarted.
    sends: ["$SRV.INFO.runner", "$SRV.INFO.scheduler"],
    publishes: [auditExecution, auditChain],
    follows: [policyBundles.bundleActivated, policyBudgets.callsStopped],
  }),
  service("channels", "Channels", {
    serves: contractsByOwner.channels.filter(isRpc),
    calls: [
      deliverToSession,
      deliverFile,
      noteInSession,
      sessionOutcome,
      userTokens.verifyUserToken,
      // The policy service decides whose decision a button is, by links that their callers made.
      approvalsForChats,
      claimChatLink,
      decideInChat,
      questionsForChats,
      answerInChat,
    ],
    publishes: contractsByOwner.channels.filter(isEvent),
    // These notify that an answer is there, or an approval or a question waits or has ended; the truth is read by a call.
    follows: [
      ...runEnds,
      questionRequested,
      questionAnswered,
      mcpQuestions.questionRequested,
      mcpQuestions.questionEnded,
      approvalEvents.approvalRequested,
      approvalEvents.approvalDecided,
      approvalEvents.approvalExpired,
    ],
  }),
  service(SCHEDULER_USER, "Scheduler", {
    serves: contractsByOwner.scheduler.filter(isRpc),
    // It is a reader of the runs that it starts.
    calls: [getRun, userTokens.verifyUserToken, channels.sendChannelMessage, channels.lastAddress],
    publishes: [...contractsByOwner.scheduler.filter(isEvent), beginRun],
    follows: [...runEnds, runRejected],
  }),
  // Its rights follow from the roles: each message names its user in a user token, and is refused without one.
  service(GATEWAY_USER, "HTTP gateway", {
    calls: [
      ...allContracts.filter(isRpc).filter(({ role }) => role !== null),
      userTokens.issueUserToken,
      userTokens.listIssuers,
      userSessions.openUserSession,
      userSessions.closeUserSession,
      channels.receiveChannelRequest,
      channels.listChannelHooks,
      channels.openDecision,
      findAgentOfRun,
    ],
    publishes: [
      ...allContracts.filter(isCommand).filter(({ role }) => role !== null),
      auditAccess,
      auditChain,
    ],
    readsEvents: "all",
    readsQueues: true,
  }),
];

/** Creates streams and consumers, reads the audit, and nothing else. */
export const adminUser = user(ADMIN_USER, "Creates streams, consumers and buckets", {
  administersStreams: true,
  readsAudit: true,
});

/** Reads the audit, which no other client may, and calls the replay of other rules. */
export const auditorUser = user(AUDITOR_USER, "Reads the audit", {
  calls: [replayDecisions, exportAudit, listTokenKeys],
  readsAudit: true,
});

/**
 * Changes how long and how much of the audit is stored, and nothing else. Not even the admin may: a user that could shorten it could remove
 * the traces of its actions. Its key is made apart from the others and is mounted nowhere.
 */
export const operatorUser = user(OPERATOR_USER, "Changes the retention of the audit", {
  retainsAudit: true,
});

/** The command line of the operator. */
export const cliUser: BusUser = {
  ...client(CLI_USER, "Command line"),
  calls: callableByClients,
  readsEvents: "all",
};

/** The users that every installation has. The operator user exists only where its key was made. */
export const installedUsers: readonly BusUser[] = [
  ...serviceUsers,
  cliUser,
  adminUser,
  auditorUser,
];

/**
 * The user of a client without credentials on a laptop, so that any NATS client can start a run
 * there. Production configurations do not have it.
 */
export const anonymousUser: BusUser = {
  ...client(ANONYMOUS_USER.name, "Clients without credentials, on a laptop only"),
  // Client libraries make up names of consumers, so it may use any. A model's live text is for the owner of the run alone.
  readsEvents: "all",
  readsOwnLive: true,
  inboxPrefix: ANONYMOUS_USER.inboxPrefix,
};

/** A team or program that starts runs, follows them and calls tools under the policy. Throws for a name that people of an issuer have. */
export function client(name: string, description: string): BusUser {
  if (name.startsWith(OIDC_PREFIX))
    throw new TypeError(
      `${name}: names that begin with ${OIDC_PREFIX} are those of people of an issuer`,
    );
  return user(name, description, {
    calls: callableByTeams,
    publishes: clientCommands,
    readsEvents: "own",
  });
}

/** Its name is one of those that can be imported without loading its permissions. */
function service(name: ServiceName, description: string, spec: Partial<BusUser>): BusUser {
  return user(name, description, spec);
}

function user(name: string, description: string, spec: Partial<BusUser>): BusUser {
  return {
    name,
    description,
    serves: [],
    calls: [],
    publishes: [],
    schedules: [],
    consumes: [],
    follows: [],
    foreignSources: [],
    sends: [],
    readsEvents: "none",
    readsOwnLive: false,
    looksUpEvents: false,
    deletesEvents: false,
    readsQueues: false,
    storesFiles: false,
    readsAudit: false,
    administersStreams: false,
    retainsAudit: false,
    inboxPrefix: `_INBOX_${name}`,
    ...spec,
  };
}
