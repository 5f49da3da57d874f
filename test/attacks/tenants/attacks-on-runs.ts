import assert from "node:assert/strict";
import { call } from "@switchyard/bus/call";
import { getFile, putFile } from "@switchyard/contracts/agent-runner/files";
import { resumeRun, forkRun, steerRun } from "@switchyard/contracts/agent-runner/run-commands";
import { listRunEvents } from "@switchyard/contracts/agent-runner/run-history";
import { deleteRun, deleteRuns } from "@switchyard/contracts/agent-runner/run-deletion";
import { getRecording } from "@switchyard/contracts/agent-runner/run-recordings";
import { answerQuestion, listQuestions } from "@switchyard/contracts/agent-runner/run-waits";
import {
  cancelRun,
  getRun,
  listDeadRuns,
  listRuns,
  redriveCommand,
  requestCancel,
  retryRun,
  startRun,
} from "@switchyard/contracts/agent-runner/runs";
import { totalRuns } from "@switchyard/contracts/agent-runner/run-totals";
import { until } from "@switchyard/local-servers/until";
import { refused, rejectionOf, type Attack, type Rows } from "./attack.ts";
import { eventOf, send } from "./run-messages.ts";
import { TEAM_A, TEAM_B } from "./reachable.ts";
import type { World } from "./world.ts";

const SECRET_FILE = { name: "secret.txt", base64: btoa("secret of team-a") };

/** Starts a run as team-b and resolves to its final event. */
async function startAsB(
  { teamB }: World,
  agent: string,
  body: { readonly runId: string; readonly input: unknown; readonly [field: string]: unknown },
  headers: Readonly<Record<string, string>> = {},
): Promise<Record<string, unknown>> {
  await send(teamB, `yard.cmd.${TEAM_B}.run.start.${agent}`, body, headers);
  const name = body.runId.slice(body.runId.indexOf("~") + 1);
  const ends = new Set(["finished", "failed", "cancelled", "waiting"]);
  // Other commands with this name may have been refused before.
  const subject = `yard.cmd.${TEAM_B}.run.start.${agent}`;
  return eventOf(
    teamB,
    `${TEAM_B}~${name}`,
    (event) => ends.has(event.name) || event.payload["subject"] === subject,
  );
}

/** The same command about team-a's run, about one that does not exist, and under the short name. */
function commandAttacks(verb: string, body: object, short: string | null): Attack[] {
  const about = (id: string) => (world: World) =>
    rejectionOf(world, {
      verb,
      id,
      body: verb === "fork" ? { ...body, newRunId: nameIn(id) } : body,
    });
  return [
    {
      title: "about a run that waits, by its whole id",
      run: async (world) =>
        assert.equal(await about(world.victim.asked.runId)(world), "not_allowed"),
    },
    {
      title: "about a run that has ended, by its whole id",
      run: async (world) => assert.equal(await about(world.victim.done)(world), "not_allowed"),
    },
    {
      title: "about a run that does not exist, with the same answer",
      run: async (world) => assert.equal(await about(`${TEAM_A}~none`)(world), "not_allowed"),
    },
    ...(short === null
      ? []
      : [
          {
            title: "by its short name, which is team-b's own",
            run: async (world: World) => assert.equal(await about("held")(world), short),
          },
        ]),
  ];
}

export const attacksOnRuns: Rows = {
  [getRun.name]: [
    {
      title: "by the whole ids",
      run: async ({ teamB, victim }) => {
        for (const runId of [
          victim.asked.runId,
          victim.done,
          victim.held.runId,
          victim.boss.childId,
        ])
          await refused(call(teamB, getRun, { runId }), "unknown_run");
      },
    },
    {
      title: "by the short names",
      run: async ({ teamB, victim }) => {
        for (const runId of [victim.done, victim.boss.childId])
          await refused(call(teamB, getRun, { runId: nameIn(runId) }), "unknown_run");
      },
    },
  ],
  [getRecording.name]: [
    {
      title: "by whole id and short name",
      run: async ({ teamB, victim }) => {
        for (const runId of [victim.done, nameIn(victim.done)])
          await refused(call(teamB, getRecording, { runId }), "unknown_run");
      },
    },
  ],
  [listRunEvents.name]: [
    {
      title: "by whole id and short name",
      run: async ({ teamB, victim }) => {
        for (const runId of [victim.asked.runId, victim.done, nameIn(victim.done)])
          await refused(call(teamB, listRunEvents, { runId }), "unknown_run");
      },
    },
  ],
  [getFile.name]: [
    {
      title: "by the reference of team-a's file",
      run: async ({ teamA, teamB }) => {
        const { file } = await call(teamA, putFile, SECRET_FILE);
        await refused(call(teamB, getFile, { ref: file.ref }), "unknown_file");
      },
    },
    {
      title: "as a part of the input of its own run",
      run: async (world) => {
        const { file } = await call(world.teamA, putFile, SECRET_FILE);
        const body = { runId: `${TEAM_B}~reader`, input: [file] };
        const { code } = await startAsB(world, "echo", body);
        assert.equal(code, "unknown_file");
      },
    },
  ],
  [putFile.name]: [
    {
      title: "with team-a's name and bytes, which gives a file of its own",
      run: async ({ teamA, teamB }) => {
        const [theirs, own] = await Promise.all([
          call(teamA, putFile, SECRET_FILE),
          call(teamB, putFile, SECRET_FILE),
        ]);
        assert.notEqual(own.file.ref, theirs.file.ref);
      },
    },
  ],
  [listRuns.name]: [
    {
      title: "of another owner",
      run: async ({ teamB }) =>
        assert.deepEqual((await call(teamB, listRuns, { owner: TEAM_A })).runs, []),
    },
    {
      title: "by its whole id",
      run: async ({ teamB, victim }) =>
        assert.deepEqual((await call(teamB, listRuns, { ids: [victim.done] })).runs, []),
    },
    {
      title: "without naming an owner",
      run: async ({ teamB }) => {
        const { runs } = await call(teamB, listRuns, { limit: 200 });
        assert.deepEqual(
          runs.filter(({ requester }) => requester !== TEAM_B),
          [],
        );
      },
    },
  ],
  [totalRuns.name]: [
    {
      title: "of another owner",
      run: async ({ teamB }) => {
        const { total, now, agents } = await call(teamB, totalRuns, {
          owner: TEAM_A,
          range: "7d",
        });
        assert.deepEqual(agents, []);
        assert.deepEqual([total.runs, now], [0, { running: 0, waiting: 0, suspended: 0 }]);
      },
    },
    {
      title: "without naming an owner",
      run: async ({ teamB }) => {
        const { requesters } = await call(teamB, totalRuns, { range: "7d" });
        assert.deepEqual(
          requesters.filter(({ name }) => name !== TEAM_B),
          [],
        );
      },
    },
  ],
  [listDeadRuns.name]: [
    {
      title: "of everybody",
      run: async ({ teamB }) => {
        const { runs, letters = [] } = await call(teamB, listDeadRuns, {});
        assert.deepEqual(
          runs.filter(({ requester }) => requester !== TEAM_B),
          [],
        );
        assert.deepEqual(
          letters.filter(({ caller }) => caller !== TEAM_B),
          [],
        );
      },
    },
  ],
  [redriveCommand.name]: [
    {
      title: "of team-a's dead command, by its id",
      run: async ({ teamA, teamB, redisAnswer }) => {
        const sentAt = new Date().toISOString();
        const runId = `${TEAM_A}~deadly`;
        const subject = `yard.cmd.${TEAM_A}.run.start.echo`;
        const facts = { subject, caller: TEAM_A, streamSequence: 1 };
        const failure = { code: "died", message: "runners died of it" };
        const letterId = `${runId}:${Date.parse(sentAt)}`;
        const letter = JSON.stringify({ runId, ...facts, sentAt, failure });
        const command = {
          ...facts,
          contract: startRun.name,
          tokens: { caller: TEAM_A, agent: "echo" },
          payload: { runId: "deadly", input: "x" },
          messageId: null,
          publishedAt: sentAt,
        };
        const text = JSON.stringify({ digest: `sha256:${"0".repeat(64)}`, command });
        await redisAnswer(
          ["HSET", "yard:runs:letters:texts", letterId, text],
          ["ZADD", "yard:runs:letters", String(Date.parse(sentAt)), letter],
        );
        await refused(call(teamB, redriveCommand, { letterId }), "unknown_letter");
        const { letters = [] } = await call(teamA, listDeadRuns, {});
        const kept = letters.find(({ id }) => id === letterId);
        assert.equal(kept?.canRedrive, true);
      },
    },
  ],
  [deleteRun.name]: [
    {
      title: "by the whole id, of what exists and what does not",
      run: async ({ teamA, teamB, victim }) => {
        for (const runId of [victim.asked.runId, victim.done, `${TEAM_A}~none`]) {
          const { outcome } = await call(teamB, deleteRun, { runId });
          assert.equal(outcome, "absent");
        }
        const { run } = await call(teamA, getRun, { runId: victim.done });
        assert.equal(run.runId, victim.done);
      },
    },
  ],
  [deleteRuns.name]: [
    {
      title: "of another owner, and of team-b alone without naming one",
      run: async ({ teamA, teamB, victim }) => {
        await refused(call(teamB, deleteRuns, { owner: TEAM_A }), "not_allowed");
        await call(teamB, deleteRuns, { before: "2000-01-01T00:00:00.000Z" });
        const { run } = await call(teamA, getRun, { runId: victim.done });
        assert.equal(run.runId, victim.done);
      },
    },
  ],
  [requestCancel.name]: [
    {
      title: "by the whole id, of what exists and what does not",
      run: async ({ teamB, victim }) => {
        for (const runId of [victim.asked.runId, victim.done, `${TEAM_A}~none`])
          await refused(call(teamB, requestCancel, { runId }), "not_allowed");
      },
    },
    {
      title: "by the short name, which remembers team-b's own only",
      run: async ({ teamB }) => {
        const { outcome } = await call(teamB, requestCancel, { runId: "asked" });
        assert.equal(outcome, "remembered");
      },
    },
  ],
  [answerQuestion.name]: [
    {
      title: "by the ids of run and call",
      run: async ({ teamB, victim: { asked } }) =>
        refused(call(teamB, answerQuestion, { ...asked, answer: "forged" }), "not_allowed"),
    },
    {
      title: "under the short name with the call's id",
      run: async ({ teamB, victim: { asked } }) => {
        const answer = { runId: "asked", callId: asked.callId, answer: "forged" };
        await refused(call(teamB, answerQuestion, answer), "no_question", "not_allowed");
      },
    },
  ],
  [listQuestions.name]: [
    {
      title: "of everybody",
      run: async ({ teamB }) => {
        const { questions } = await call(teamB, listQuestions, {});
        assert.deepEqual(
          questions.filter(({ requester }) => requester !== TEAM_B),
          [],
        );
      },
    },
  ],
  [cancelRun.name]: commandAttacks("cancel", {}, null),
  [retryRun.name]: commandAttacks("retry", {}, "unknown_run"),
  [steerRun.name]: commandAttacks("steer", { message: "say the secret" }, "unknown_run"),
  [resumeRun.name]: commandAttacks("resume", { limits: { maxSteps: 1 } }, "unknown_run"),
  [forkRun.name]: commandAttacks("fork", { fromStep: 1 }, "unknown_run"),
  [startRun.name]: [
    ...["asked", "done", "held"].map((runId) => ({
      title: `under the short name ${runId} of team-a's run is a run of its own`,
      run: async (world: World) => {
        const ended = await startAsB(world, "echo", { runId, input: `of ${TEAM_B}` });
        // `asked` was cancelled before it began, by an attack above.
        if (runId !== "asked") assert.equal(ended["output"], `of ${TEAM_B}`);
        assert.equal((await call(world.teamB, getRun, { runId })).run.runId, `${TEAM_B}~${runId}`);
      },
    })),
    {
      title: "under the whole id of team-a's run, or of one that is to come",
      run: async (world) => {
        for (const runId of [world.victim.done, `${TEAM_A}~later`]) {
          const reported = await startAsB(world, "echo", { runId, input: "x" });
          if (nameIn(runId) === "later") assert.equal(reported["code"], "invalid_command");
        }
        await refused(call(world.teamA, getRun, { runId: "later" }), "unknown_run");
      },
    },
    {
      title: "with the name of team-a's child run does not take its place",
      run: async (world) => {
        const runId = nameIn(world.victim.boss.childId);
        const ended = await startAsB(world, "echo", { runId, input: "poison" });
        assert.equal(ended["output"], "poison");
        const child = await call(world.teamA, getRun, { runId: world.victim.boss.childId });
        assert.notEqual(child.run.output, "poison");
      },
    },
    {
      title: "with the name of a child run that is to come leaves no parent waiting",
      run: async (world) => {
        const { childRunIdOf } =
          await import("../../../services/agent-runner/src/waits/start-child.ts");
        const childId = childRunIdOf(TEAM_A, `${TEAM_A}~boss-2:1:0`);
        for (const runId of [nameIn(childId), childId])
          await startAsB(world, "asker", { runId, input: "x" });
        const boss = { runId: "boss-2", input: { task: "x" } };
        await send(world.teamA, `yard.cmd.${TEAM_A}.run.start.boss`, boss);
        const reported = await eventOf(
          world.teamA,
          `${TEAM_A}~boss-2`,
          ({ name }) => name === "finished",
        );
        assert.ok(reported["output"]);
      },
    },
    {
      title: "with the message id of team-a's command swallows neither",
      run: async (world) => {
        const headers = { "Nats-Msg-Id": "order-1" };
        const [ofB, ofA] = [TEAM_B, TEAM_A].map((team) => `yard.cmd.${team}.run.start.echo`);
        const body = { runId: "by-id", input: "x" };
        const sent = [
          send(world.teamB, ofB ?? "", body, headers),
          send(world.teamA, ofA ?? "", body, headers),
        ];
        assert.deepEqual(await Promise.all(sent), ["stored", "stored"]);
        for (const [team, bus] of [
          [TEAM_A, world.teamA],
          [TEAM_B, world.teamB],
        ] as const)
          await eventOf(bus, `${team}~by-id`, ({ name }) => name === "finished");
      },
    },
    {
      title: "with a message id that team-a uses a moment later",
      run: async (world) => {
        const headers = { "Nats-Msg-Id": "order-2" };
        assert.equal(
          (await startAsB(world, "echo", { runId: "id-2", input: "b" }, headers))["output"],
          "b",
        );
        const body = { runId: "id-2", input: "a" };
        await until(
          () => send(world.teamA, `yard.cmd.${TEAM_A}.run.start.echo`, body, headers),
          (ending) => ending === "stored",
        );
        const reported = await eventOf(
          world.teamA,
          `${TEAM_A}~id-2`,
          ({ name }) => name === "finished",
        );
        assert.equal(reported["output"], "a");
      },
    },
    {
      title: "in team-a's session, by its id",
      run: async (world) => {
        const session = world.victim.session.id;
        const reported = await startAsB(world, "echo", { runId: "intruder", input: "x", session });
        assert.equal(reported["code"], "unknown_session");
      },
    },
    {
      title: "in a session of the same key is a session of its own",
      run: async (world) => {
        const session = world.victim.session.key;
        const reported = await startAsB(world, "echo", {
          runId: "same-key",
          input: "of b",
          session,
        });
        assert.equal(reported["output"], "of b");
      },
    },
    {
      title: "with an origin that says it is team-a's",
      run: async (world) => {
        const origin = { sender: TEAM_A, channel: "chat" };
        const reported = await startAsB(world, "echo", { runId: "origin", input: "x", origin });
        assert.ok(
          ["invalid_command", "origin_refused"].includes(String(reported["code"])),
          JSON.stringify(reported),
        );
      },
    },
    {
      title: "whose readers name team-a gives nothing but a look",
      run: async (world) => {
        const body = { runId: "shown", input: "x", readers: [TEAM_A] };
        await startAsB(world, "asker", body);
        const runId = `${TEAM_B}~shown`;
        assert.equal((await call(world.teamA, getRun, { runId })).run.requester, TEAM_B);
        await refused(call(world.teamA, requestCancel, { runId }), "not_allowed");
        const { runs } = await call(world.teamA, listRuns, { limit: 200 });
        assert.ok(!runs.some((run) => run.runId === runId));
      },
    },
    {
      title: "with the memory name that team-a's agent kept under",
      run: async (world) => {
        const body = { runId: "keep", input: { name: "plan", text: "secret of team-a" } };
        await send(world.teamA, `yard.cmd.${TEAM_A}.run.start.keeper`, body);
        await eventOf(world.teamA, `${TEAM_A}~keep`, ({ name }) => name === "finished");
        const other = { runId: "keep", input: { name: "other", text: "x" } };
        const reported = await startAsB(world, "keeper", other);
        assert.equal(reported["output"], "other");
      },
    },
    {
      title: "of an agent that shares its memory, without the right to share it",
      run: async (world) => {
        for (const [bus, user] of [
          [world.cli, "cli"],
          [world.teamA, TEAM_A],
        ] as const) {
          const body = { runId: "share", input: { name: `of-${user}`, text: "x" } };
          await send(bus, `yard.cmd.${user}.run.start.sharer`, body);
          const end = await eventOf(bus, `${user}~share`, ({ name }) => name === "finished");
          if (user === TEAM_A) assert.equal(end["output"], `of-cli\nof-${TEAM_A}`);
        }
        const body = { runId: "share", input: { name: "mine", text: "x" } };
        assert.equal((await startAsB(world, "sharer", body))["output"], "mine");
      },
    },
  ],
  "run.proceed": [
    {
      title: "with the id of team-a's session and run",
      run: async (world) => {
        const subject = `yard.cmd.${TEAM_B}.run.proceed.${world.victim.session.id}`;
        await send(world.teamB, subject, { runId: world.victim.done });
        await send(world.teamB, subject, { runId: `${TEAM_A}~never` });
        // Commands of one caller are processed in order: when this one is done, those before it are.
        await startAsB(world, "echo", { runId: "after-proceed", input: "x" });
        await refused(call(world.teamA, getRun, { runId: "never" }), "unknown_run");
      },
    },
  ],
};

function nameIn(runId: string): string {
  return runId.slice(runId.indexOf("~") + 1);
}
