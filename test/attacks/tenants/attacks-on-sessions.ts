import assert from "node:assert/strict";
import { call } from "@switchyard/bus/call";
import { claimSession } from "@switchyard/contracts/agent-runner/session-claims";
import {
  deleteSession,
  getSession,
  listSessions,
  patchSession,
  resetSession,
  sendToSession,
  sessionHistory,
} from "@switchyard/contracts/agent-runner/sessions";
import { refused, type Attack, type Rows } from "./attack.ts";
import { TEAM_A, TEAM_B } from "./reachable.ts";
import type { World } from "./world.ts";

type Named = (world: World) => { readonly session: string; readonly owner?: string };

/** Every way to name team-a's session. */
const names: Readonly<Record<string, Named>> = {
  "by its id": ({ victim }) => ({ session: victim.session.id }),
  "by its id, as its owner": ({ victim }) => ({ session: victim.session.id, owner: TEAM_A }),
  "by its key, as its owner": ({ victim }) => ({ session: victim.session.key, owner: TEAM_A }),
};

function attacksBy(ask: (world: World, named: ReturnType<Named>) => Promise<unknown>): Attack[] {
  return Object.entries(names).map(([title, named]) => ({
    title,
    run: (world) => refused(ask(world, named(world)), "unknown_session"),
  }));
}

export const attacksOnSessions: Rows = {
  [getSession.name]: attacksBy(({ teamB }, named) => call(teamB, getSession, named)),
  [sessionHistory.name]: attacksBy(({ teamB }, named) => call(teamB, sessionHistory, named)),
  [patchSession.name]: [
    ...attacksBy(({ teamB }, named) => call(teamB, patchSession, { ...named, label: "mine" })),
    {
      title: "gives its own session the label of team-a's",
      run: async ({ teamB, teamA, victim }) => {
        const { key, label } = victim.session;
        await call(teamA, patchSession, { session: key, label });
        await call(teamB, sendToSession, { session: "labelled", message: "x", agent: "echo" });
        const { session } = await call(teamB, patchSession, { session: "labelled", label });
        assert.equal(session.owner, TEAM_B);
      },
    },
  ],
  [claimSession.name]: [
    {
      title: "by its id",
      run: ({ teamB, victim }) =>
        refused(call(teamB, claimSession, { session: victim.session.id }), "unknown_session"),
    },
    {
      title: "by its key, which names a session of its own at most",
      run: ({ teamB, victim }) =>
        refused(
          call(teamB, claimSession, { session: victim.session.key, channel: "telegram" }),
          "unknown_session",
          "false_claim",
        ),
    },
  ],
  [resetSession.name]: attacksBy(({ teamB }, named) => call(teamB, resetSession, named)),
  [deleteSession.name]: attacksBy(({ teamB }, named) => call(teamB, deleteSession, named)),
  [sendToSession.name]: [
    ...attacksBy(({ teamB }, named) =>
      call(teamB, sendToSession, { ...named, message: "say the secret", agent: "echo" }),
    ),
    {
      title: "by the label of team-a's, as its owner",
      run: ({ teamB, victim }) => {
        const { label } = victim.session;
        const asked = call(teamB, sendToSession, { label, owner: TEAM_A, message: "x" });
        return refused(asked, "unknown_session");
      },
    },
    {
      title: "under the same key is a session of its own, without the history of team-a's",
      run: async ({ teamB, victim }) => {
        const { key, id } = victim.session;
        const said = { session: key, message: "hello", agent: "echo", timeoutSeconds: 20 };
        const { sessionId, reply } = await call(teamB, sendToSession, said);
        assert.notEqual(sessionId, id);
        assert.equal(reply, "hello");
        const { messages } = await call(teamB, sessionHistory, { session: key });
        assert.doesNotMatch(JSON.stringify(messages), /secret of team-a/);
      },
    },
    {
      title: "with the whole id of team-a's run",
      run: ({ teamB, victim }) => {
        const said = { session: "mine", message: "x", agent: "echo", runId: victim.done };
        return refused(call(teamB, sendToSession, said), "run_id_taken", "invalid_request");
      },
    },
    {
      title: "again and again fills only its own room",
      run: async ({ teamA, teamB }) => {
        const codes = new Set<unknown>();
        for (let index = 0; index < 30; index += 1) {
          const said = { session: `fill-${index}`, message: "x", agent: "echo" };
          await call(teamB, sendToSession, said).catch((error: unknown) =>
            codes.add((error as { code: unknown }).code),
          );
        }
        assert.deepEqual([...codes], ["too_many_sessions"]);
        const said = { session: "second", message: "x", agent: "echo" };
        assert.equal((await call(teamA, sendToSession, said)).status, "accepted");
      },
    },
  ],
  [listSessions.name]: [
    {
      title: "of all owners",
      run: async ({ teamB }) => {
        const { sessions } = await call(teamB, listSessions, { all: true });
        assert.deepEqual(
          sessions.filter(({ owner }) => owner !== TEAM_B),
          [],
        );
      },
    },
    {
      title: "of team-a, with its messages",
      run: async ({ teamB }) => {
        const asked = { owner: TEAM_A, messageLimit: 20, search: "main" };
        const { sessions } = await call(teamB, listSessions, asked);
        assert.deepEqual(
          sessions.filter(({ owner }) => owner !== TEAM_B),
          [],
        );
      },
    },
  ],
};
