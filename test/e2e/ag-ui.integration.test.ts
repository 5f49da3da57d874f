import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { HttpAgent } from "@ag-ui/client";
import { EventType, type Event, type Interrupt, type RunAgentInput } from "@ag-ui/core";
import { until } from "@switchyard/local-servers/until";
import { HttpAgent as OldHttpAgent } from "ag-ui-client-0";
import { startProtocolsWorld } from "../lib/protocols-world.ts";

const world = await startProtocolsWorld();

/** CopilotKit's runtime has a client of before 1.0, which sends no version of the protocol and throws on unknown events. */
const clients = [
  { version: "1.0.0", Agent: HttpAgent },
  // The members used here have the same shape in both.
  { version: "0.0.57", Agent: OldHttpAgent as unknown as typeof HttpAgent },
];

/** Runs the agent with a person's message, or with answers to its interrupts, and returns the events that its client accepted. */
async function run(
  agent: HttpAgent,
  { say, resume, runId }: { say?: string; resume?: RunAgentInput["resume"]; runId?: string },
) {
  if (say !== undefined) agent.addMessage({ id: randomUUID(), role: "user", content: say });
  const events: Event[] = [];
  await agent.runAgent(
    { ...(resume !== undefined && { resume }), ...(runId !== undefined && { runId }) },
    { onEvent: ({ event }) => void events.push(event as Event) },
  );
  return events;
}

function lastOf({ messages }: HttpAgent): string {
  const last = messages.at(-1);
  assert.equal(last?.role, "assistant");
  return typeof last?.content === "string" ? last.content : "";
}

const typesOf = (events: readonly Event[]) => events.map(({ type }) => type);

function interruptOf(events: readonly Event[]): Interrupt {
  const last = events.at(-1);
  const outcome = last?.type === EventType.RUN_FINISHED ? last.outcome : undefined;
  assert.equal(outcome?.type, "interrupt");
  return (outcome?.type === "interrupt" && outcome.interrupts[0]) || assert.fail("no interrupt");
}

for (const { version, Agent } of clients) {
  const agentOf = (name: string, threadId: string = randomUUID()): HttpAgent => {
    const headers = { authorization: `Bearer ${world.token}` };
    return new Agent({ url: `${world.url}/ag-ui/${name}`, headers, threadId });
  };

  test(`a run is streamed with its steps, texts, tool calls and state, in an order that client ${version} accepts`, async () => {
    const agent = agentOf("helper");
    const events = await run(agent, { say: "hello" });
    const types = typesOf(events);
    assert.equal(types[0], EventType.RUN_STARTED);
    assert.equal(types.at(-1), EventType.RUN_FINISHED);
    for (const type of [
      EventType.STEP_STARTED,
      EventType.TEXT_MESSAGE_CONTENT,
      EventType.TOOL_CALL_START,
      EventType.TOOL_CALL_RESULT,
      EventType.STATE_SNAPSHOT,
    ])
      assert.ok(types.includes(type), type);
    assert.match(lastOf(agent), /^You said hello\. The tool said: This is a simple text/);
  });

  test(`a run of another agent is a subagent for clients that support them, and usage is reported, with client ${version}`, async () => {
    const isOld = version.startsWith("0.");
    const agent = agentOf("boss");
    const events = await run(agent, { say: "hello" });
    const subagents = events.filter(({ type }) => type.startsWith("SUBAGENT_"));
    assert.deepEqual(
      typesOf(subagents),
      isOld ? [] : [EventType.SUBAGENT_STARTED, EventType.SUBAGENT_FINISHED],
    );
    const [started] = subagents;
    if (started?.type === EventType.SUBAGENT_STARTED) {
      const calls = events.filter((event) => event.type === EventType.TOOL_CALL_START);
      assert.equal(started.name, "helper");
      assert.deepEqual(
        calls.map(({ toolCallId }) => toolCallId),
        [started.parentToolCallId],
      );
    }
    const last = events.at(-1);
    const usage = last?.type === EventType.RUN_FINISHED ? last.usage : undefined;
    assert.deepEqual(
      usage?.map(({ model }) => model),
      isOld ? undefined : ["scripted/plan"],
    );
    assert.match(lastOf(agent), /^It said: .*You said hello/);
  });

  test(`the same run id again is the same run, and a thread is a session, with client ${version}`, async () => {
    const threadId = randomUUID();
    const runId = randomUUID();
    const idOf = (events: readonly Event[]) => {
      const last = events.at(-1);
      return last?.type === EventType.RUN_FINISHED && (last.result as { runId: string }).runId;
    };
    const first = idOf(await run(agentOf("helper", threadId), { say: "hello", runId }));
    const again = idOf(await run(agentOf("helper", threadId), { say: "hello", runId }));
    const other = idOf(await run(agentOf("helper", threadId), { say: "more" }));
    assert.equal(again, first);
    assert.notEqual(other, first);
    const keys = await Promise.all(
      [first, other].map(async (id) => {
        const { run: shown } = (await world.send(`/runs/${String(id)}`)) as {
          run: { session: { key: string } };
        };
        return shown.session.key;
      }),
    );
    assert.equal(keys[0], keys[1]);
  });

  test(`an approval is an interrupt that the next run resolves, and so is a question, with client ${version}`, async () => {
    const careful = agentOf("careful");
    const asked = await run(careful, { say: "paint" });
    const { id: interruptId, reason } = interruptOf(asked);
    assert.equal(reason, "tool_call");
    const status = "resolved" as const;
    const yes = [{ interruptId, status, payload: { approved: true } }];
    const done = await run(careful, { resume: yes });
    assert.ok(typesOf(done).includes(EventType.TOOL_CALL_RESULT));
    assert.match(lastOf(careful), /Done: guarded \{"what":"paint"\}/);

    const curious = agentOf("curious");
    const question = interruptOf(await run(curious, { say: "x" }));
    assert.equal(question.message, "Which colour?");
    const green = [{ interruptId: question.id, status, payload: { answer: "green" } }];
    await run(curious, { resume: green });
    assert.match(lastOf(curious), /The colour is .*green/);
  });

  test(`a run of another agent that fails is a subagent's error, and one that fails itself is the run's, with client ${version}`, async () => {
    const isOld = version.startsWith("0.");
    const events = await run(agentOf("chief"), { say: "hello" });
    const subagents = events.filter(({ type }) => type.startsWith("SUBAGENT_"));
    assert.deepEqual(
      typesOf(subagents),
      isOld ? [] : [EventType.SUBAGENT_STARTED, EventType.SUBAGENT_ERROR],
    );
    const [, failed] = subagents;
    if (failed?.type === EventType.SUBAGENT_ERROR) assert.equal(failed.code, "failed");
    assert.equal(events.at(-1)?.type, EventType.RUN_FINISHED);

    const broken: Event[] = [];
    const agent = agentOf("broken");
    agent.addMessage({ id: randomUUID(), role: "user", content: "hello" });
    // Clients report an error by their events, some by a rejection, too.
    await agent
      .runAgent({}, { onEvent: ({ event }) => void broken.push(event as Event) })
      .catch(() => {});
    const last = broken.at(-1);
    assert.equal(last?.type, EventType.RUN_ERROR);
    assert.equal(last?.type === EventType.RUN_ERROR && last.code, "model_error");
    assert.equal(typesOf(broken).includes(EventType.RUN_FINISHED), false);
  });

  test(`a run that is cancelled closes its open messages and reports it, with client ${version}`, async () => {
    const events: Event[] = [];
    const agent = agentOf("patient");
    agent.addMessage({ id: randomUUID(), role: "user", content: "hello" });
    const following = agent
      .runAgent({}, { onEvent: ({ event }) => void events.push(event as Event) })
      .catch(() => {});
    await until(() => typesOf(events).includes(EventType.TOOL_CALL_END));
    const state = events.find((event) => event.type === EventType.STATE_SNAPSHOT);
    const { runId = "" } = (state?.snapshot ?? {}) as { runId?: string };
    await world.send(`/runs/${runId}/cancel`, {});
    await following;
    const last = events.at(-1);
    if (version.startsWith("0.")) {
      assert.equal(last?.type, EventType.RUN_ERROR);
      assert.equal(last?.type === EventType.RUN_ERROR && last.code, "cancelled");
    } else {
      assert.equal(last?.type, EventType.RUN_FINISHED);
      const outcome = last?.type === EventType.RUN_FINISHED ? last.outcome : undefined;
      assert.equal(outcome?.type, "cancelled");
    }
    const count = (type: EventType) => events.filter((event) => event.type === type).length;
    assert.equal(count(EventType.STEP_STARTED), count(EventType.STEP_FINISHED));
  });

  test(`what a run cannot be is refused before there is a stream, with client ${version}`, async () => {
    const agent = agentOf("nobody");
    await assert.rejects(run(agent, { say: "hello" }), /404/);
  });
}
