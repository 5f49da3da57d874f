import assert from "node:assert/strict";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { readEvents } from "@switchyard/bus/events";
import { ensureStreams } from "@switchyard/bus/streams";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { commandStream, eventStream } from "@switchyard/topology/streams";
import { fullRunId, runTokens } from "@switchyard/contracts/ids";
import { subjectOf } from "@switchyard/contracts/define";
import type { Constants } from "@switchyard/testing/test-constants";
import { testNats, testRedis } from "@switchyard/testing/test-servers";
import { testServices } from "@switchyard/testing/test-services";
import { after } from "node:test";
import { connect } from "nats";
import { assertFits } from "./journal-checker.ts";
import { startFakeServices, type FakeServices } from "./fake-services.ts";
import {
  startRunner,
  withLog,
  type LogLine,
  type Runner,
  type RunnerProcess,
} from "./runner-process.ts";
import { runnerService } from "../src/service.ts";

export interface RunEventRecord {
  readonly name: string;
  readonly payload: Record<string, unknown>;
}

/** Servers, fake services and a client: everything around the runners of one test file. */
export interface Lab {
  readonly nats: { readonly url: string };
  readonly redis: { readonly url: string };
  readonly services: FakeServices;
  /** A bus as the command line has it. */
  readonly bus: Bus;
  /** Starts a runner in the process of the test. */
  runner(env?: Record<string, string>, constants?: Constants): Promise<Runner>;
  /** Starts a runner that can be killed; `main` is that of another version. */
  runnerProcess(env?: Record<string, string>, main?: string): Promise<RunnerProcess>;
  /** Publishes a command with a plain NATS client, as any program may. */
  command(agent: string, body: unknown, options?: { messageId?: string }): Promise<void>;
  /** Publishes raw bytes on any subject. */
  publish(subject: string, body: string, messageId?: string): Promise<void>;
  /** Commands that are not done yet. */
  pendingCommands(): Promise<number>;
  /** Commands or events that are stored under a subject. */
  stored(subject: string): Promise<number>;
  /**
   * Returns the events of a run, by its name among those of `cli`, up to one with the given name (or that the test accepts), in
   * stream order.
   */
  eventsUntil(
    runId: string,
    last: string | ((event: RunEventRecord) => boolean),
  ): Promise<RunEventRecord[]>;
}

export async function startLab(servers?: {
  nats: { url: string };
  redis: { url: string };
}): Promise<Lab> {
  const startServices = testServices();
  const nats = servers?.nats ?? (await testNats());
  const redis = servers?.redis ?? (await testRedis());
  const bus = await connectBus({ servers: nats.url, user: "cli" });
  await ensureStreams(bus);
  const services = await startFakeServices(nats);
  const urls = { YARD_NATS_URL: nats.url, YARD_REDIS_URL: redis.url };
  const plain = await connect({
    servers: nats.url.split(","),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 100,
  });
  after(async () => {
    await plain.close();
    await services.stop();
    await bus.close();
  });
  // On a busy machine the server may take longer than the default of 5 s to store a message.
  const jetstream = plain.jetstream({ timeout: 30_000 });
  const publish = async (subject: string, body: string, messageId?: string): Promise<void> => {
    const options = messageId === undefined ? {} : { msgID: messageId };
    await jetstream.publish(subject, new TextEncoder().encode(body), options);
  };
  return {
    nats,
    redis,
    services,
    bus,
    publish,
    async runner(env = {}, constants = {}) {
      const lines: LogLine[] = [];
      await startServices([runnerService], {
        env: { PATH: process.env["PATH"], ...urls, ...env },
        constants,
        onLine: (line) => void lines.push(JSON.parse(line) as LogLine),
      });
      return withLog(lines);
    },
    runnerProcess: (env = {}, main) => startRunner({ ...urls, ...env }, main),
    command: (agent, body, options) =>
      publish(
        subjectOf(startRun, { caller: "cli", agent }),
        JSON.stringify(body),
        options?.messageId,
      ),
    async pendingCommands() {
      const manager = await plain.jetstreamManager({ timeout: 30_000 });
      return (await manager.streams.info(commandStream.name)).state.messages;
    },
    async stored(subject) {
      const manager = await plain.jetstreamManager({ timeout: 30_000 });
      const { name } = subject.startsWith("yard.cmd.") ? commandStream : eventStream;
      const { state } = await manager.streams.info(name, { subjects_filter: subject });
      return state.subjects?.[subject] ?? 0;
    },
    async eventsUntil(runId, last) {
      const isLast = typeof last === "string" ? ({ name }: RunEventRecord) => name === last : last;
      const found: RunEventRecord[] = [];
      const run = runTokens(fullRunId("cli", runId));
      const filters = [`yard.evt.run.${run.owner}.${run.runId}.*`];
      for await (const event of readEvents(bus, { filters, from: "beginning" })) {
        const { subject, payload, contract } = event;
        if (contract !== null) assertFits(contract, payload);
        const name = subject.split(".").at(-1) ?? "";
        // Every run event's payload is an object.
        const record = { name, payload: payload as Record<string, unknown> };
        found.push(record);
        if (isLast(record)) return found;
      }
      throw new Error(`the events of run ${runId} ended too early`);
    },
  };
}

/** The numbers of events, which must be 1, 2, 3, … */
export function sequenceOf(events: readonly RunEventRecord[]): number[] {
  return events.flatMap(({ payload }) =>
    typeof payload["seq"] === "number" ? [payload["seq"]] : [],
  );
}

/** The numbers of these events must be 1, 2, 3, … Only `delayed`, which comes before a run begins when it cannot yet, has none. */
export function assertNumbered(events: readonly RunEventRecord[]): void {
  const numbered = events.filter(({ name }) => name !== "delayed");
  assert.deepEqual(
    sequenceOf(events),
    numbered.map((_, index) => index + 1),
  );
}
