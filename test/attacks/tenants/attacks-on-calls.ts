import assert from "node:assert/strict";
import { call } from "@switchyard/bus/call";
import { listMemories, recallMemory } from "@switchyard/contracts/toolbox/agent-memory";
import { callTool, listTools } from "@switchyard/contracts/mcp-broker/mcp";
import { cancelCall } from "@switchyard/contracts/mcp-broker/mcp-calls";
import {
  completeArgument,
  getPrompt,
  listMessages,
  readResource,
  setLogLevel,
  subscribeResource,
} from "@switchyard/contracts/mcp-broker/mcp-features";
import { answerQuestion, listQuestions } from "@switchyard/contracts/mcp-broker/mcp-questions";
import { callBuiltin, cancelBuiltin, listBuiltins } from "@switchyard/contracts/toolbox/toolbox";
import { refused, type Rows } from "./attack.ts";
import { TEAM_B } from "./reachable.ts";
import type { World } from "./world.ts";

const counting = { tokens: { server: "counting" } } as const;
const eliciting = { tokens: { server: "eliciting" } } as const;
/** Well-formed, but without a valid signature. */
const TOKEN =
  `${btoa('{"alg":"EdDSA","kid":"x"}')}.${btoa('{"sub":"team-a"}')}.${btoa("x")}`.replaceAll(
    "=",
    "",
  );

const bigOfB = ({ teamB }: World, more: object, bytes = 7) =>
  call(teamB, callTool, { tool: "big", args: { bytes }, ...more }, counting);
const writeOfB = ({ teamB }: World, more: object) =>
  call(teamB, callBuiltin, { tool: "write_file", args: { path: "a.txt", content: "x" }, ...more });

export const attacksOnCalls: Rows = {
  [callTool.name]: [
    {
      title: "with the call id of team-a's call and its arguments gets no stored result",
      run: async (world) =>
        assert.equal((await bigOfB(world, { callId: world.victim.callId })).replayed, false),
    },
    {
      title: "with the call id of team-a's call and other arguments is a call of its own",
      run: async (world) => {
        const { text } = await bigOfB(world, { callId: "hang-1" }, 3);
        assert.equal(text, "xxx");
      },
    },
    {
      title: "with the id of a call that team-a's run will make does not block it",
      run: async (world) => {
        for (const callId of [world.victim.held.callId, `${world.victim.held.runId}:2:0`])
          assert.equal((await bigOfB(world, { callId })).replayed, false);
      },
    },
    {
      title: "with team-a's approval",
      run: ({ teamB, victim }) => {
        const { approvalId } = victim.held;
        const asked = { tool: "append", args: { line: "of team-a" }, approvalId };
        return refused(call(teamB, callTool, asked, counting), "denied");
      },
    },
    {
      title: "with a forged token",
      run: (world) => refused(bigOfB(world, { token: TOKEN }), "invalid_token", "invalid_request"),
    },
    {
      title: "with an epoch that shuts out the runner of team-a's run",
      run: async (world) => {
        const reply = await bigOfB(world, { epoch: 1_000_000, callId: "epoch-1" });
        assert.equal(reply.isError, false);
      },
    },
    {
      title: "many at a time leaves team-a its place",
      run: async ({ teamA, teamB }) => {
        const filling = Array.from({ length: 64 }, (_, index) =>
          call(teamB, callTool, { tool: "hang", args: {}, callId: `fill-${index}` }, counting),
        );
        const ends = Promise.allSettled(filling);
        const reply = await call(teamA, callTool, { tool: "big", args: { bytes: 5 } }, counting);
        assert.equal(reply.text, "xxxxx");
        for (let index = 0; index < filling.length; index += 1)
          await call(teamB, cancelCall, { callId: `fill-${index}` }, counting);
        await ends;
      },
    },
  ],
  [cancelCall.name]: [
    {
      title: "of team-a's call in work",
      run: async ({ teamB, victim }) => {
        const asked = { callId: victim.hangingId };
        assert.equal((await call(teamB, cancelCall, asked, counting)).cancelled, false);
      },
    },
    {
      title: "with a forged token",
      run: ({ teamB, victim }) => {
        const asked = { callId: victim.hangingId, token: TOKEN };
        const cancelled = call(teamB, cancelCall, asked, counting);
        return cancelled.then(
          (reply) => assert.equal(reply.cancelled, false),
          () => refused(cancelled, "invalid_token", "invalid_request"),
        );
      },
    },
  ],
  [listTools.name]: [
    {
      title: "right after team-a received the tools that it may use",
      run: async ({ teamA, teamB }) => {
        for (const [bus, isReported] of [
          [teamA, true],
          [teamB, false],
        ] as const) {
          const { tools } = await call(bus, listTools, {});
          assert.equal(
            tools.some(({ name }) => name === "mcp__counting__append"),
            isReported,
          );
        }
      },
    },
    {
      title: "with a forged token",
      run: ({ teamB }) =>
        refused(call(teamB, listTools, { token: TOKEN }), "invalid_token", "invalid_request"),
    },
  ],
  [listQuestions.name]: [
    {
      title: "of everybody",
      run: async ({ teamB }) => {
        const { questions } = await call(teamB, listQuestions, { pendingOnly: false });
        const users = questions.flatMap(({ askedFor }) => askedFor.map(({ user }) => user));
        assert.deepEqual(
          users.filter((user) => user !== TEAM_B),
          [],
        );
      },
    },
  ],
  [answerQuestion.name]: [
    {
      title: "by its id, with the answer of one that does not exist",
      run: async ({ teamB, victim }) => {
        for (const id of [victim.questionId, "q-00000000"])
          for (const action of ["accept", "decline", "cancel"] as const)
            await refused(call(teamB, answerQuestion, { id, action }), "unknown_question");
      },
    },
  ],
  [callBuiltin.name]: [
    {
      title: "right after team-a was allowed the same one",
      run: async ({ teamA, teamB }) => {
        const asked = { tool: "list_files", args: {} };
        assert.equal((await call(teamA, callBuiltin, asked)).isError, false);
        await refused(call(teamB, callBuiltin, asked), "denied");
      },
    },
    {
      title: "with the grant of team-a needs an approval all the same",
      run: (world) => refused(writeOfB(world, { callId: "b-1" }), "approval_required"),
    },
    {
      title: "with the id of team-a's approved call",
      run: (world) => refused(writeOfB(world, { callId: "standing" }), "approval_required"),
    },
    {
      title: "with team-a's approval",
      run: (world) =>
        refused(
          writeOfB(world, { approvalId: world.victim.held.approvalId }),
          "approval_required",
          "denied",
        ),
    },
    {
      title: "with a forged token",
      run: (world) =>
        refused(writeOfB(world, { token: TOKEN }), "invalid_token", "invalid_request"),
    },
    {
      title: "that asks people again and again leaves team-a its questions",
      run: async (world) => {
        for (let index = 0; index < 40; index += 1)
          await refused(
            writeOfB(world, { callId: `ask-${index}`, args: { path: "b", content: `${index}` } }),
            "approval_required",
            "denied",
            "overloaded",
            "policy_unavailable",
          );
        const args = { path: "other.txt", content: "y" };
        const asked = { tool: "write_file", args, callId: "after-flood" };
        // The standing approval of team-a covers it.
        assert.equal((await call(world.teamA, callBuiltin, asked)).isError, false);
      },
    },
  ],
  [cancelBuiltin.name]: [
    {
      title: "of team-a's call",
      run: async ({ teamB }) =>
        assert.equal((await call(teamB, cancelBuiltin, { callId: "standing" })).cancelled, false),
    },
  ],
  [listBuiltins.name]: [
    {
      title: "right after team-a received the tools that it may use",
      run: async ({ teamA, teamB }) => {
        const reported = async (bus: World["teamA"]) =>
          (await call(bus, listBuiltins, {})).tools.some(({ name }) => name === "list_files");
        assert.deepEqual([await reported(teamA), await reported(teamB)], [true, false]);
      },
    },
    {
      title: "with a forged token",
      run: ({ teamB }) =>
        refused(call(teamB, listBuiltins, { token: TOKEN }), "invalid_token", "invalid_request"),
    },
  ],
  [recallMemory.name]: [
    {
      title: "without a token of a run",
      run: ({ teamB }) => {
        const asked = call(teamB, recallMemory, { token: TOKEN, maxBytes: 1_024 });
        return refused(asked, "invalid_token", "invalid_request");
      },
    },
  ],
  [listMemories.name]:
    "lists what runs of the caller stored: the store is asked by agent and caller",
  // Calls that no rule allows a team are denied before the server receives them.
  [readResource.name]: denied(({ teamB }) =>
    call(teamB, readResource, { uri: "demo://a" }, eliciting),
  ),
  [subscribeResource.name]: denied(({ teamB }) =>
    call(teamB, subscribeResource, { uri: "demo://a" }, eliciting),
  ),
  [getPrompt.name]: denied(({ teamB }) => call(teamB, getPrompt, { name: "a" }, eliciting)),
  [completeArgument.name]: denied(({ teamB }) => {
    const ref = { type: "prompt", name: "a" } as const;
    return call(teamB, completeArgument, { ref, argument: { name: "x", value: "" } }, eliciting);
  }),
  [setLogLevel.name]: denied(({ teamB }) =>
    call(teamB, setLogLevel, { level: "debug" }, eliciting),
  ),
  [listMessages.name]: denied(({ teamB }) => call(teamB, listMessages, {}, eliciting)),
};

function denied(ask: (world: World) => Promise<unknown>) {
  return [
    {
      title: "without a rule that allows it",
      run: (world: World) => refused(ask(world), "denied", "not_supported"),
    },
  ];
}
