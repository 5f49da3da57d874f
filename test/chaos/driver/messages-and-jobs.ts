import { setTimeout as delay } from "node:timers/promises";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { readChannelMessages, submitChannelMessage } from "@switchyard/contracts/channels/channels";
import { ServiceError } from "@switchyard/contracts/errors";
import {
  addSchedule,
  ScheduleJobInput,
  scheduleRuns,
} from "@switchyard/contracts/scheduler/schedules";
import type { JobEvidence, MessageEvidence } from "../checker/evidence.ts";
import { seededRandom } from "./seeded-random.ts";

/** A message of a person in a channel. */
export interface PlannedMessage {
  /** Also its text, which is the answer. */
  readonly id: string;
  readonly conversation: string;
  readonly atMs: number;
}

/** A job of the scheduler, due once. */
export interface PlannedJob {
  readonly name: string;
  readonly atMs: number;
}

export interface OutsideOptions {
  readonly seed: number;
  /** Messages of people, in conversations of three. */
  readonly messages: number;
  readonly jobs: number;
  readonly durationMs: number;
}

const AGENT = "clerk";
const OF_A_CONVERSATION = 3;

/** Draws the senders and times of messages, and the due times of jobs. */
export function drawMessages({ seed, messages, durationMs }: OutsideOptions): PlannedMessage[] {
  const random = seededRandom(seed ^ 0x3e55a6e);
  return Array.from({ length: messages }, (_, index) => ({
    id: `message-${seed}-${index}`,
    conversation: `person-${seed}-${Math.floor(index / OF_A_CONVERSATION)}`,
    atMs: random.between(0, durationMs),
  }));
}

/** Draws the due times of jobs. */
export function drawJobs({ seed, jobs, durationMs }: OutsideOptions): PlannedJob[] {
  const random = seededRandom(seed ^ 0x10b5);
  return Array.from({ length: jobs }, (_, index) => ({
    name: `job-${seed}-${index}`,
    atMs: random.between(0, durationMs),
  }));
}

/** Adds the jobs before any fault; resolves with their ids. A job that was added twice would be two jobs. */
export function addJobs(bus: Bus, jobs: readonly PlannedJob[]): Promise<string[]> {
  const startsAt = Date.now();
  return Promise.all(
    jobs.map(async ({ name, atMs }) => {
      const job = ScheduleJobInput.parse({
        name,
        agentId: AGENT,
        schedule: { kind: "at", at: new Date(startsAt + atMs).toISOString() },
        sessionTarget: "isolated",
        payload: { kind: "agentTurn", message: name },
        deleteAfterRun: false,
      });
      return (await call(bus, addSchedule, { job })).job.id;
    }),
  );
}

/** Sends the messages at their times, with retries until each is stored: the same id is the same message. */
export async function sayMessages(bus: Bus, messages: readonly PlannedMessage[]): Promise<void> {
  const startedAt = performance.now();
  const say = async ({ id, conversation, atMs }: PlannedMessage): Promise<void> => {
    await delay(Math.max(0, startedAt + atMs - performance.now()));
    await untilAnswered(() =>
      call(bus, submitChannelMessage, {
        channel: "loopback",
        sender: { id: conversation },
        target: { kind: "user", id: conversation },
        messageId: id,
        text: id,
      }),
    );
  };
  await Promise.all(messages.map(say));
}

/** Reads the answers to the messages. */
export function readAnswers(
  bus: Bus,
  messages: readonly PlannedMessage[],
): Promise<MessageEvidence[]> {
  const conversations = Map.groupBy(messages, ({ conversation }) => conversation);
  return Promise.all(
    [...conversations].map(async ([conversation, said]) => {
      const address = {
        channel: "loopback",
        accountId: "main",
        target: { kind: "user" as const, id: conversation },
      };
      const read = await untilAnswered(() =>
        call(bus, readChannelMessages, { address, limit: 100 }),
      );
      return {
        conversation,
        said: said.map(({ id }) => id),
        answers: read.messages.map(({ text }) => text),
      };
    }),
  );
}

/** Reads the runs of the jobs. */
export function readJobs(bus: Bus, jobIds: readonly string[]): Promise<JobEvidence[]> {
  return Promise.all(
    jobIds.map(async (jobId) => {
      const { entries } = await untilAnswered(() => call(bus, scheduleRuns, { jobId }));
      return {
        jobId,
        ends: entries.map(({ status, error = null }) => ({ status, error })),
      };
    }),
  );
}

const RETRY_MS = 200;
const ANSWER_MS = 120_000;

async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  const end = performance.now() + ANSWER_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ServiceError) || performance.now() > end) throw error;
      await delay(RETRY_MS);
    }
  }
}
