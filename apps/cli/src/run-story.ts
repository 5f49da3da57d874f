import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { subscribeLive } from "@switchyard/bus/events";
import type { StoredEvent } from "@switchyard/bus/stored-event";
import { publishCommand } from "@switchyard/bus/publish";
import { fullRunId, runTokens } from "@switchyard/contracts/ids";
import { modelResponded, runLive } from "@switchyard/contracts/agent-runner/run-events";
import { getRun, startRun, type StartRun } from "@switchyard/contracts/agent-runner/runs";
import { followRun, type QueueWait, type RunEnd } from "./follow-run.ts";
import { LiveText } from "./live-text.ts";
import { whyRunsWait } from "./missing-services.ts";
import { payloadOf, timelineLines, timelineText, type TimelineLine } from "./run-timeline.ts";
import { screenWidth } from "./table.ts";
import { writeJsonLine, type Terminal } from "./terminal.ts";

export interface RunStart {
  readonly agent: string;
  readonly command: StartRun & { readonly runId: string };
}

const QUEUED_NOTE_MS = 5_000;
const QUEUED_LOOK_MS = 10_000;

/** Puts the command into the work queue. The run id makes a repeat harmless and joins everything it leads to. */
export async function publishRun(bus: Bus, start: RunStart): Promise<{ sequence: number }> {
  const { agent, command } = start;
  const { runId } = command;
  return publishCommand(bus, startRun, { agent }, command, { correlationId: runId });
}

/** Starts a run and prints its timeline until it ends; null when the signal aborted before. */
export async function startAndFollow(
  bus: Bus,
  options: RunStart & FollowedStory,
): Promise<RunEnd | null> {
  const { agent, command } = options;
  const { runId } = command;
  return printAndFollow(bus, { ...options, runId, isStarted: true }, async (story) => {
    await publishRun(bus, options);
    const text = `${runId} for agent ${agent}`;
    story.print({ mark: "▸", label: "queued", text, style: "dim" }, new Date());
  });
}

interface FollowedStory {
  readonly terminal: Terminal;
  readonly json: boolean;
  readonly signal: AbortSignal;
  readonly onEvent?: (event: StoredEvent) => void;
  /** True when the text of the model is shown while it is being written. */
  readonly live?: boolean;
}

/**
 * Prints the timeline of a run started by any client, from its first event to its end; null when the signal aborted before.
 * `opening` comes first, for a run that is known to come.
 */
export function tailRun(
  bus: Bus,
  options: FollowedStory & {
    readonly runId: string;
    readonly opening?: TimelineLine;
    /** Set for a run that may not exist. */
    readonly queueWait?: { readonly seconds: number };
  },
): Promise<RunEnd | null> {
  const { opening } = options;
  return printAndFollow(bus, options, async (story) => {
    if (opening !== undefined) story.print(opening, new Date());
  });
}

async function printAndFollow(
  bus: Bus,
  options: FollowedStory & {
    readonly runId: string;
    readonly isStarted?: boolean;
    readonly queueWait?: { readonly seconds: number };
  },
  begin: (story: Story) => Promise<void>,
): Promise<RunEnd | null> {
  const { terminal, runId, signal, onEvent, live = false, isStarted = false } = options;
  const whyQueued = isStarted ? () => whyRunsWait(bus) : null;
  const story = printStory(terminal, { json: options.json, to: "stderr", whyQueued });
  // Subscribed before the run can begin, so that all its text is received.
  const text = live && !options.json ? printText(bus, runId, story) : null;
  try {
    await begin(story);
    const print = (event: StoredEvent): void => {
      onEvent?.(event);
      text?.before(event);
      story.onEvent(event, { isModelText: text?.hasShown(event) !== true });
      text?.after(event);
    };
    const onNothing = (): void => noteNothing(terminal, runId);
    const queueWait =
      options.queueWait === undefined ? {} : { queueWait: { ...options.queueWait, onNothing } };
    return await followToEnd(bus, { runId, signal, onEvent: print, ...queueWait });
  } finally {
    text?.stop();
    story.end();
  }
}

/** Another client may have started the run, so its existence is uncertain. */
export function noteNothing(terminal: Terminal, runId: string): void {
  terminal.note(`run ${runId} is unknown so far; waiting a moment, because it may be in the queue`);
}

/**
 * Prints the text of a run as it is written: before each event the lines that close that text, and after it the text that was
 * deferred.
 */
function printText(
  bus: Bus,
  runId: string,
  story: Story,
): {
  before(event: StoredEvent): void;
  after(event: StoredEvent): void;
  hasShown(event: StoredEvent): boolean;
  stop(): void;
} {
  const text = new LiveText();
  const print = (lines: readonly TimelineLine[], at: Date): void => {
    for (const line of lines) story.print(line, at);
  };
  const live = subscribeLive(bus, runLive, runTokens(fullRunId(bus.user, runId)), (message) =>
    print(text.take(message), new Date()),
  );
  return {
    before: (event) => print(text.before(event), event.time),
    after: (event) => print(text.after(event), event.time),
    hasShown: (event) => {
      const responded = payloadOf(event, modelResponded);
      return responded !== null && responded.toolCalls > 0 && text.hasShown(responded.step);
    },
    stop: () => live.stop(),
  };
}

/** Follows a run, and where its message became part of another run, that one. Its answer is the whole one. */
export async function followToEnd(
  bus: Bus,
  options: {
    readonly runId: string;
    readonly signal: AbortSignal;
    readonly onEvent: (event: StoredEvent) => void;
    readonly queueWait?: QueueWait;
  },
): Promise<RunEnd | null> {
  let { runId } = options;
  let end = await followRun(bus, options);
  while (end?.end === "merged") {
    runId = end.into;
    end = await followRun(bus, { ...options, runId });
  }
  if (end?.end !== "finished" || end.isWhole) return end;
  const { run } = await client(bus, { getRun }).getRun({ runId });
  return { ...end, output: run.output ?? end.output };
}

interface Story {
  /** `isModelText`: false when the text of the model was shown as it was written. */
  onEvent(event: StoredEvent, shown?: { readonly isModelText: boolean }): void;
  print(line: TimelineLine, at: Date): void;
  end(): void;
}

/**
 * Writes events as they come: JSON lines on stdout, or a timeline, which starts with its first line.
 * The timeline is the data itself (stdout), or what happens on the way to it (stderr).
 */
export function printStory(
  terminal: Terminal,
  {
    json,
    to,
    whyQueued = null,
  }: {
    json: boolean;
    to: "stdout" | "stderr";
    /** Finds the reason why the command stays in the queue; null for a run that may be anywhere. */
    whyQueued?: (() => Promise<string | null>) | null;
  },
): Story {
  let originMs: number | null = null;
  const noLongerQuiet = whyQueued === null ? () => {} : noteWhileQueued(terminal, whyQueued);
  const print = (line: TimelineLine, at: Date): void => {
    originMs ??= at.getTime();
    if (!json) {
      const afterMs = at.getTime() - originMs;
      const [write, paint] =
        to === "stdout" ? [terminal.out, terminal.paintOut] : [terminal.note, terminal.paintNote];
      write(timelineText(line, afterMs, paint, screenWidth(process[to])));
    }
  };
  return {
    print,
    onEvent(event, { isModelText } = { isModelText: true }) {
      noLongerQuiet();
      if (json) writeJsonLine(terminal, eventJson(event));
      if (isModelText) for (const line of timelineLines(event)) print(line, event.time);
    },
    end: noLongerQuiet,
  };
}

/** Prints after a while that nothing has happened yet, and again whenever the reason changes. Returns the function that ends it. */
function noteWhileQueued(terminal: Terminal, whyQueued: () => Promise<string | null>): () => void {
  let printed: string | null = null;
  let isOver = false;
  const look = async (): Promise<void> => {
    const why = (await whyQueued()) ?? "no runner took the run yet";
    if (isOver) return;
    if (why !== printed)
      terminal.note(`still queued: ${why}. Look at the services with: ./yard services`);
    printed = why;
    timer = setTimeout(() => void look(), QUEUED_LOOK_MS).unref();
  };
  let timer = setTimeout(() => void look(), QUEUED_NOTE_MS).unref();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

function eventJson(event: StoredEvent): Record<string, unknown> {
  return {
    event: event.contract?.name ?? null,
    subject: event.subject,
    sequence: event.sequence,
    time: event.time.toISOString(),
    payload: event.payload,
  };
}
