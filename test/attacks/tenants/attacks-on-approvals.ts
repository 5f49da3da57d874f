import assert from "node:assert/strict";
import { call } from "@switchyard/bus/call";
import {
  approvalStates,
  approveCall,
  cancelApproval,
  denyCall,
  getApproval,
  listApprovals,
} from "@switchyard/contracts/policy/approvals";
import {
  createChatLink,
  listChatLinks,
  revokeChatLink,
} from "@switchyard/contracts/policy/chat-links";
import { ServiceError } from "@switchyard/contracts/errors";
import { listGrants, revokeGrant } from "@switchyard/contracts/policy/session-grants";
import { callBuiltin } from "@switchyard/contracts/toolbox/toolbox";
import { refused, type Rows } from "./attack.ts";
import { TEAM_A, TEAM_B } from "./reachable.ts";
import type { World } from "./world.ts";

const UNKNOWN = `apr-${"0".repeat(32)}`;

/** An approval that a call of team-b's own waits for. */
export async function ownApproval({ teamB }: World, callId: string): Promise<string> {
  const asked = { tool: "write_file", args: { path: "b.txt", content: callId }, callId };
  const error: unknown = await call(teamB, callBuiltin, asked).catch((reason: unknown) => reason);
  assert.ok(error instanceof ServiceError && error.code === "approval_required", String(error));
  return (error.data as { approvalId: string }).approvalId; // as the contract says
}

const deciding = { approve: approveCall, deny: denyCall } as const;

export const attacksOnApprovals: Rows = {
  [listApprovals.name]: [
    {
      title: "of everybody, with those that have ended",
      run: async ({ teamB }) => {
        const { approvals } = await call(teamB, listApprovals, { pendingOnly: false });
        assert.deepEqual(
          approvals.filter(({ principal }) => principal.user !== TEAM_B),
          [],
        );
      },
    },
    {
      title: "of team-a's run, by whole id and short name",
      run: async ({ teamB, victim }) => {
        for (const runId of [victim.held.runId, "held"]) {
          const { approvals, pending } = await call(teamB, listApprovals, { runId });
          assert.deepEqual([approvals, pending], [[], 0]);
        }
      },
    },
  ],
  [getApproval.name]: [
    {
      title: "by its id, with the answer of one that does not exist",
      run: async ({ teamB, victim }) => {
        for (const id of [victim.held.approvalId, UNKNOWN])
          await refused(call(teamB, getApproval, { id }), "unknown_approval");
      },
    },
    {
      title: "of its own call, which shows nothing of the last one that was approved for team-a",
      run: async (world) => {
        const id = await ownApproval(world, "own-compared");
        const { presentation } = await call(world.teamB, getApproval, { id });
        assert.equal(presentation.changes, null);
      },
    },
  ],
  [approvalStates.name]: [
    {
      title: "by its id",
      run: async ({ teamB, victim }) => {
        const ids = [victim.held.approvalId, UNKNOWN];
        assert.deepEqual((await call(teamB, approvalStates, { ids })).approvals, []);
      },
    },
  ],
  ...Object.fromEntries(
    Object.values(deciding).map((contract) => [
      contract.name,
      [
        {
          title: "of team-a's call, by its id",
          run: ({ teamB, victim }: World) =>
            refused(call(teamB, contract, { id: victim.held.approvalId }), "unknown_approval"),
        },
        {
          title: "of its own call, also with other arguments, which others decide",
          run: async (world: World) => {
            const id = await ownApproval(world, `own-${contract.name.replace(".", "-")}`);
            await refused(call(world.teamB, contract, { id }), "forbidden_approver");
            const changed = { id, arguments: { path: "c.txt", content: "changed" } };
            await refused(call(world.teamB, approveCall, changed), "forbidden_approver");
          },
        },
      ],
    ]),
  ),
  [createChatLink.name]: "a code is of the caller that makes it",
  [listChatLinks.name]: [
    {
      title: "of team-a",
      run: ({ teamB }) => refused(call(teamB, listChatLinks, { user: TEAM_A }), "forbidden_admin"),
    },
  ],
  [revokeChatLink.name]:
    "a link is unknown to all but its caller and the admins: test/e2e/decide-in-chat.integration.test.ts",
  [cancelApproval.name]: [
    {
      title: "of team-a's call, by its id",
      run: ({ teamB, victim }) =>
        refused(call(teamB, cancelApproval, { id: victim.held.approvalId }), "unknown_approval"),
    },
    {
      title: "of its own call leaves team-a's waiting",
      run: async (world) => {
        const id = await ownApproval(world, "own-cancelled");
        const { approval } = await call(world.teamB, cancelApproval, { id });
        assert.equal(approval.state, "cancelled");
        const held = await call(world.teamA, getApproval, { id: world.victim.held.approvalId });
        assert.equal(held.approval.state, "pending");
      },
    },
  ],
  [listGrants.name]: [
    {
      title: "of everybody",
      run: async ({ teamB }) => {
        const { grants } = await call(teamB, listGrants, {});
        assert.deepEqual(
          grants.filter(({ principal }) => principal.user !== TEAM_B),
          [],
        );
      },
    },
  ],
  [revokeGrant.name]: [
    {
      title: "by its id, with the answer of one that does not exist",
      run: async ({ teamB, victim }) => {
        for (const id of [victim.grantId, `grt-${"0".repeat(32)}`])
          await refused(call(teamB, revokeGrant, { id }), "unknown_grant");
      },
    },
  ],
};
