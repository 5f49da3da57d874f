import * as approvals from "@switchyard/contracts/policy/approvals";
import { findAgentOfRun } from "@switchyard/contracts/agent-runner/run-history";
import { readCallContext } from "@switchyard/contracts/agent-runner/call-context";
import {
  lastAddress,
  listChannelHooks,
  openDecision,
  loginChannelAccount,
  receiveChannelRequest,
} from "@switchyard/contracts/channels/channels";
import * as mcpQuestions from "@switchyard/contracts/mcp-broker/mcp-questions";
import * as runWaits from "@switchyard/contracts/agent-runner/run-waits";
import * as chatLinks from "@switchyard/contracts/policy/chat-links";
import type { Rpc } from "@switchyard/contracts/define";
import { deliverFile } from "@switchyard/contracts/agent-runner/files";
import * as mcpAuth from "@switchyard/contracts/mcp-broker/mcp-auth";
import * as mcpOwnership from "@switchyard/contracts/mcp-broker/mcp-ownership";
import { cancelCallAt } from "@switchyard/contracts/mcp-broker/mcp-calls";
import * as mcpPins from "@switchyard/contracts/mcp-broker/mcp-pins";
import * as mcpSecrets from "@switchyard/contracts/mcp-broker/mcp-secrets";
import * as mcpServers from "@switchyard/contracts/mcp-broker/mcp-servers";
import { completeModel } from "@switchyard/contracts/agent-runner/model-completion";
import * as policyBudgets from "@switchyard/contracts/policy/policy-budgets";
import * as policyBundles from "@switchyard/contracts/policy/policy-bundles";
import { explainPolicy } from "@switchyard/contracts/policy/policy-explain";
import { listTokenKeys } from "@switchyard/contracts/policy/policy-grants";
import { validatePolicy } from "@switchyard/contracts/policy/policy-texts";
import { allContracts, contractsByOwner, isRpc } from "@switchyard/contracts/registry";
import { restartRunner, restartScheduler } from "@switchyard/contracts/restarts";
import {
  deliverToSession,
  noteInSession,
  sessionOutcome,
} from "@switchyard/contracts/agent-runner/session-delivery";
import { listGrants, revokeGrant } from "@switchyard/contracts/policy/session-grants";
import * as toolbox from "@switchyard/contracts/toolbox/toolbox";
import * as userSessions from "@switchyard/contracts/policy/user-sessions";
import * as userTokens from "@switchyard/contracts/policy/user-tokens";

const allRpcs = allContracts.filter(isRpc);
/** Clients may call only the explaining rpcs of the policy; decisions and tokens are for services. */
const explainingRpcs: ReadonlySet<Rpc> = new Set<Rpc>([
  explainPolicy,
  validatePolicy,
  policyBundles.listPolicyVersions,
  policyBundles.listPolicyRules,
  policyBundles.whoCanCall,
  policyBudgets.listStops,
  listTokenKeys,
  // The policy service checks who may change it.
  policyBundles.readPolicyTexts,
  policyBundles.activatePolicy,
  policyBundles.rollbackPolicy,
  policyBudgets.stopCalls,
  policyBudgets.resumeCalls,
]);
/** Clients may call these, too; the policy service checks who may decide, and no service that works for agents may. */
const decidingRpcs: ReadonlySet<Rpc> = new Set<Rpc>([
  approvals.listApprovals,
  approvals.getApproval,
  approvals.approvalStates,
  approvals.approveCall,
  approvals.denyCall,
  approvals.cancelApproval,
  listGrants,
  revokeGrant,
  chatLinks.createChatLink,
  chatLinks.listChatLinks,
  chatLinks.revokeChatLink,
]);
/** Rpcs about the people and programs that sign in over HTTP. */
const keyRpcs: ReadonlySet<Rpc> = new Set<Rpc>([
  userTokens.createUserKey,
  userTokens.listUserKeys,
  userTokens.rotateUserKey,
  userTokens.revokeUserKey,
  userSessions.listUserSessions,
  userSessions.revokeUserSession,
]);
/** Rpcs between services or replicas of one, and rpcs that cost money without a run. */
const internalRpcs: ReadonlySet<Rpc> = new Set<Rpc>([
  mcpOwnership.askOwner,
  cancelCallAt,
  completeModel,
  readCallContext,
  findAgentOfRun,
  runWaits.listQuestionsForChats,
  runWaits.answerForUser,
  mcpQuestions.listQuestionsForChats,
  mcpQuestions.answerForUser,
  toolbox.cancelBuiltinAt,
  restartRunner,
  restartScheduler,
  deliverToSession,
  deliverFile,
  noteInSession,
  sessionOutcome,
  lastAddress,
  receiveChannelRequest,
  listChannelHooks,
  openDecision,
]);
/**
 * Rpcs that show or change MCP servers: commands, addresses, names of headers, logs, logins, definitions; and who may sign in over HTTP.
 * Teams have the tools of a server; the registry is for operators.
 */
const registryRpcs: ReadonlySet<unknown> = new Set<unknown>([
  ...Object.values(mcpServers),
  ...Object.values(mcpSecrets),
  ...Object.values(mcpPins),
  ...Object.values(mcpAuth),
  ...keyRpcs,
  loginChannelAccount,
]);
/** The rpcs that the command line of an installation may call. */
export const callableByClients = allRpcs.filter(
  (contract) =>
    explainingRpcs.has(contract) ||
    decidingRpcs.has(contract) ||
    keyRpcs.has(contract) ||
    (!internalRpcs.has(contract) &&
      !contractsByOwner.policy.some((owned) => owned.name === contract.name)),
);

/** The rpcs that a team or program may call. */
export const callableByTeams = callableByClients.filter((contract) => !registryRpcs.has(contract));
