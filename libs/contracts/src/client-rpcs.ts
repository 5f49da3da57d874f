import * as approvals from "./approvals.ts";
import { readCallContext } from "./call-context.ts";
import {
  lastAddress,
  listChannelHooks,
  openDecision,
  loginChannelAccount,
  receiveChannelRequest,
} from "./channels.ts";
import * as chatLinks from "./chat-links.ts";
import type { Rpc } from "./define.ts";
import { deliverFile } from "./files.ts";
import * as mcpAuth from "./mcp-auth.ts";
import * as mcpOwnership from "./mcp-ownership.ts";
import { cancelCallAt } from "./mcp-calls.ts";
import * as mcpPins from "./mcp-pins.ts";
import * as mcpServers from "./mcp-servers.ts";
import { completeModel } from "./model-completion.ts";
import * as policyBudgets from "./policy-budgets.ts";
import * as policyBundles from "./policy-bundles.ts";
import { explainPolicy } from "./policy-explain.ts";
import { listTokenKeys } from "./policy-grants.ts";
import { validatePolicy } from "./policy-texts.ts";
import { allContracts, contractsByOwner, isRpc } from "./registry.ts";
import { restartRunner, restartScheduler } from "./restarts.ts";
import { deliverToSession, noteInSession, sessionOutcome } from "./session-delivery.ts";
import { listGrants, revokeGrant } from "./session-grants.ts";
import * as toolbox from "./toolbox.ts";
import * as userSessions from "./user-sessions.ts";
import * as userTokens from "./user-tokens.ts";

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
