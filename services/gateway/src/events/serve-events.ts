import { RUN_ENDS } from "@switchyard/client/operations";
import { RunReader } from "@switchyard/client/run-reader";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { hasPassed, placeOf, type EventPlace } from "@switchyard/bus/event-place";
import { readEvents } from "@switchyard/bus/events";
import { storedRunEvents } from "@switchyard/service/read-run-events";
import type { ReadEventsOptions, StoredEvent } from "@switchyard/bus/stored-event";
import { approvalStates } from "@switchyard/contracts/policy/approvals";
import { fullRunId, ownerOfRun, RunId } from "@switchyard/contracts/ids";
import { listRunEvents } from "@switchyard/contracts/agent-runner/run-history";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import { refusalOf } from "@switchyard/contracts/user-roles";
import { ServiceError } from "@switchyard/contracts/errors";
import { cutText } from "@switchyard/contracts/cut-text";
import { unknownField } from "@switchyard/contracts/problem-text";
import type { Context } from "hono";
import { Problem } from "../problems/problem.ts";
import { acceptsGzip } from "../routes/accepts-gzip.ts";
import { EVENT_FEED } from "../routes/event-feed.ts";
import { headerOf, type GatewayEnv } from "../identity/request-context.ts";
import type { User, UserCache } from "../identity/user-cache.ts";
import { filtersFor, isCommandLine, isWithin } from "./event-filters.ts";
import type { EventHub } from "./event-hub.ts";
import type { CredentialWatch } from "./credential-watch.ts";
import { openEventStream, type EventStream } from "./event-stream.ts";
import type { StreamSlots } from "./stream-slots.ts";

export interface EventParts {
  readonly bus: Bus;
  readonly hub: EventHub;
  readonly users: UserCache;
  readonly credentials: CredentialWatch;
  readonly streamSlots: StreamSlots;
  /** The time for which a reader waits for a run of its own of which no event is stored yet. */
  readonly unknownRunMs: number;
}

/** Readers that are cut reconnect after this delay. */
const RETRY_MS = 1_000;
/** A gateway that stops cuts its readers within that time, each at another moment, so that they do not reconnect all at once. */
const CUT_WITHIN_MS = 2_000;

/**
 * `GET /runs/{runId}/events`: the run's events under their own numbers, and live text between them; with `follow=false` the
 * stored events alone.
 */
export async function serveRunEvents(c: Context<GatewayEnv>, parts: EventParts): Promise<Response> {
  const user = c.get("user");
  checkQuery(c, ["follow", "after"]);
  const parsed = RunId.safeParse(c.req.param("runId"));
  if (!parsed.success) throw badRequest("runId is not a valid run id");
  const runId = fullRunId(user.caller, parsed.data);
  checkRights(user, getRun);
  await checkVisible(parts.bus, user, runId);
  const owner = ownerOfRun(runId) ?? user.caller;
  const name = runId.slice(runId.indexOf("~") + 1);
  const after = lastSeq(c);
  const isFollowed = c.req.query("follow") !== "false";
  const stream = openStream(c, parts);
  const reader = new RunSender(stream, after);
  const subject = `yard.evt.run.${owner}.${name}.`;
  attach(c, parts, stream, {
    filters: [`${subject}*`],
    from: "beginning",
    stored: (signal) =>
      storedRunEvents(parts.bus, {
        runId,
        after,
        signal,
        fromJournal: (request) =>
          call(parts.bus, listRunEvents, request, { userToken: user.token }),
        follows: isFollowed,
      }),
    isMine: (event) => event.subject.startsWith(subject),
    take: (event) => reader.take(event),
    settle: () => void ((reader.hasEnded || !isFollowed) && stream.end()),
  });
  const stopLive = parts.hub.onLive({ owner, name }, (delta) => {
    if (stream.hasRoom()) stream.send({ event: "delta", data: delta });
  });
  const credential = c.get("credential");
  const silenceTimer = setTimeout(() => {
    if (!reader.hasEvents && after === 0) void endUnknown(parts, { credential, stream, runId });
  }, parts.unknownRunMs);
  stream.onClose(() => {
    clearTimeout(silenceTimer);
    stopLive();
  });
  return stream.response;
}

/**
 * A run that waits in the queue is as unknown as one that was never started, so the reader gets an error and may reconnect. One of which no
 * event could be read is read again when the reader reconnects.
 */
async function endUnknown(
  { bus, users }: EventParts,
  { credential, stream, runId }: { credential: string; stream: EventStream; runId: string },
): Promise<void> {
  try {
    const { token: userToken } = await users.identify(credential);
    await call(bus, getRun, { runId }, { userToken });
    stream.end();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== "unknown_run") return;
    const reason = "this run is unknown: it waits in the queue, or was never started";
    stream.send({ event: "unknown", data: { runId, reason } });
    stream.end();
  }
}

function openStream(c: Context<GatewayEnv>, { streamSlots }: EventParts): EventStream {
  const giveBack = streamSlots.take(c.get("user").caller);
  // A browser keeps the stream open all day. Programs, of which there may be thousands, are not worth the processor time.
  const isBrowser = headerOf(c, "authorization") === undefined;
  const isPacked = isBrowser && acceptsGzip(headerOf(c, "accept-encoding"));
  const stream = openEventStream(c.env.outgoing, { retryMs: RETRY_MS, isPacked });
  stream.onClose(giveBack);
  return stream;
}

/**
 * `GET /events`: the events of everything that the caller owns, or of one noun, object or kind of event of it, under their position in the
 * stream. With `follow=false` the stored events alone, from the oldest when no last event is named.
 */
export async function serveEvents(c: Context<GatewayEnv>, parts: EventParts): Promise<Response> {
  const user = c.get("user");
  checkRights(user, EVENT_FEED);
  checkQuery(c, ["noun", "id", "event", "follow", "after"]);
  const { noun, id, event: kind, follow } = c.req.query();
  if (follow === "false" && kind === undefined)
    throw badRequest(
      "follow=false goes with noun and event: it reads the stream from its beginning",
    );
  const filters = filtersFor(user, { noun, id, kind });
  const isShown = approvalFilter(c, parts, filters);
  const { last: known, from: behind } = lastPlace(c);
  const from = follow === "false" ? (behind ?? "beginning") : behind;
  const stream = openStream(c, parts);
  let last = known;
  let earlier: Promise<void> = Promise.resolve();
  const send = (event: StoredEvent): void => {
    const place = placeOf(event);
    if (last !== null && hasPassed(last, place)) return;
    last = place;
    stream.send({ event: nameOf(event), id: idOf(place), data: event.payload });
  };
  attach(c, parts, stream, {
    filters,
    from,
    isMine: ({ subject }) => filters.some((filter) => isWithin(subject, filter)),
    take:
      isShown === null
        ? send
        : (event) => {
            const shown = earlier.then(() => isShown(event));
            earlier = shown.then((is) => void (is && send(event))).catch(() => stream.end());
            return earlier;
          },
    settle: () => void (follow === "false" && earlier.then(() => stream.end())),
  });
  return stream.response;
}

const OTHERS_APPROVALS = "yard.evt.approval.*.";

function isOfOthersApprovals(filter: string): boolean {
  return filter.startsWith(OTHERS_APPROVALS);
}

/**
 * Returns the filter for an approver. The policy service decides for each event whether the caller may see its approval, since roles,
 * settings and rules change while a stream is open. Null for a caller that gets no approvals of others, and for the command line.
 */
function approvalFilter(
  c: Context<GatewayEnv>,
  { bus, users }: EventParts,
  filters: readonly string[],
): ((event: StoredEvent) => Promise<boolean>) | null {
  const user = c.get("user");
  if (isCommandLine(user) || !filters.some(isOfOthersApprovals)) return null;
  const credential = c.get("credential");
  return async ({ subject }) => {
    const [, , noun, owner, approvalId = ""] = subject.split(".");
    if (noun !== "approval" || owner === user.caller) return true;
    const { token: userToken } = await users.identify(credential);
    const { approvals } = await call(bus, approvalStates, { ids: [approvalId] }, { userToken });
    return approvals.length > 0;
  };
}

interface Feed {
  readonly filters: readonly string[];
  /** The position from which stored events are read first; null: live events alone. */
  readonly from: Exclude<ReadEventsOptions["from"], "now"> | null;
  /** Reads from the beginning in another way than from the stream alone. */
  readonly stored?: (signal: AbortSignal) => AsyncIterable<StoredEvent>;
  readonly isMine: (event: StoredEvent) => boolean;
  readonly take: (event: StoredEvent) => void | Promise<void>;
  /** Called when all stored events were read, and after each event from then on. */
  readonly settle?: () => void;
}

/**
 * Sends the stored events first, as fast as the reader accepts them, then the live ones. Events that arrive meanwhile are also
 * stored and are read from there; the feed drops duplicates.
 */
function attach(
  c: Context<GatewayEnv>,
  { bus, hub, users, credentials }: EventParts,
  stream: EventStream,
  feed: Feed,
): void {
  let isCaughtUp = false;
  let missed: EventPlace | null = null;
  const stopEvents = hub.onEvent((event) => {
    if (!feed.isMine(event)) return;
    if (isCaughtUp) {
      void feed.take(event);
      feed.settle?.();
    } else missed = placeOf(event);
  });
  const stops = [
    stopEvents,
    hub.onStop(() => setTimeout(() => stream.end(), CUT_WITHIN_MS * Math.random())),
    users.onEnded(c.get("user"), () => stream.end()),
    credentials.watch(c.get("credential"), () => stream.end()),
  ];
  stream.onClose(() => {
    for (const stop of stops) stop();
  });
  const catchUp = async (): Promise<void> => {
    const { filters } = feed;
    await hub.opened();
    const closing = new AbortController();
    const stop = stream.onClose(() => closing.abort());
    const options = { filters, stopAtEnd: true, signal: closing.signal };
    let { from } = feed;
    while (from !== null) {
      const before: EventPlace | null = missed;
      let last: EventPlace | null = null;
      const reading =
        from === "beginning" && feed.stored !== undefined
          ? feed.stored(closing.signal)
          : readEvents(bus, { ...options, from });
      for await (const event of reading) {
        if (event.sequence > 0) last = placeOf(event);
        await feed.take(event);
        await stream.room();
      }
      const hasAll =
        missed === before || (last !== null && missed !== null && hasPassed(last, missed));
      if (hasAll || stream.isClosed) break;
      if (last !== null) from = { after: last };
    }
    stop();
    isCaughtUp = true;
    // The comment confirms that no event from here on is missed, although the first may take hours.
    stream.comment("ready");
    feed.settle?.();
  };
  // The reader reconnects and resumes at its last event.
  catchUp().catch(() => stream.end());
}

/** Puts the events of a run in their order: the stream may have one twice, and a reader has some already. */
class RunSender {
  readonly #stream: EventStream;
  readonly #events: RunReader<true>;
  #hasEvents = false;

  constructor(stream: EventStream, after: number) {
    this.#stream = stream;
    this.#events = new RunReader(after);
  }

  get hasEvents(): boolean {
    return this.#hasEvents;
  }

  get hasEnded(): boolean {
    return this.#events.end !== null;
  }

  take(event: StoredEvent): void {
    this.#hasEvents = true;
    const name = nameOf(event);
    const id = seqOf(event);
    // An event without a number is of a run that has not begun; a reader that has events of the run ignores it.
    if (id === null && this.#events.hasBegun) return;
    const isEnd = RUN_ENDS.has(name) ? true : null;
    if (this.#events.take(name, event.payload, () => isEnd))
      this.#stream.send({ event: name, ...(id !== null && { id }), data: event.payload });
  }
}

function nameOf({ subject }: StoredEvent): string {
  return subject.slice(subject.lastIndexOf(".") + 1);
}

function seqOf({ payload }: StoredEvent): number | null {
  const { seq }: { seq?: unknown } = typeof payload === "object" && payload !== null ? payload : {};
  return typeof seq === "number" ? seq : null;
}

/** The events of a run together contain what `runs.get` returns, so they need the same rights. */
function checkRights(user: User, asked: Pick<typeof getRun, "name" | "role">): void {
  const refusal = refusalOf(asked, user);
  if (refusal !== null) throw new Problem({ status: 403, code: "forbidden", detail: refusal });
}

/** A caller's own run may be one that has not begun. Any other one is unknown, whether or not it exists. */
async function checkVisible(bus: Bus, user: User, runId: string): Promise<void> {
  if (ownerOfRun(runId) === user.caller) return;
  await call(bus, getRun, { runId }, { userToken: user.token });
}

/** A misspelt filter would let everything pass or nothing, so each parameter has to be a known one. */
function checkQuery(c: Context, known: readonly string[]): void {
  const problems = Object.keys(c.req.query())
    .filter((name) => !known.includes(name))
    .slice(0, MOST_PROBLEMS)
    .map((name) => `${cutText(name, 100)}: ${unknownField(name, known)}`);
  if (problems.length > 0) throw badRequest(problems.join("; "));
}

const MOST_PROBLEMS = 20;
/** Returns the number of the last event of a run that the reader has; 0 without one. */
function lastSeq(c: Context<GatewayEnv>): number {
  const text = lastEventId(c);
  return /^\d{1,15}$/.test(text) ? Number(text) : notAnId();
}

/** The id of an event, in the form that {@link lastPlace} reads. */
function idOf({ sequence, storedAtMs }: EventPlace): string {
  return `${sequence}-${storedAtMs}`;
}

/** Returns the position of the last event of the stream of all events that the reader has, and where it resumes. */
function lastPlace(c: Context<GatewayEnv>): Pick<Feed, "from"> & { last: EventPlace | null } {
  const [, digits, time] = /^(\d{1,15})(?:-(\d{1,13}))?$/.exec(lastEventId(c)) ?? notAnId();
  const sequence = Number(digits);
  if (sequence === 0) return { last: null, from: null };
  if (time === undefined) {
    // Ids of older versions contain no time: the reader has every event that is stored now and has a number up to that one.
    const last = { sequence, storedAtMs: Date.now() };
    return { last, from: { sequence: sequence + 1 } };
  }
  const last = { sequence, storedAtMs: Number(time) };
  return { last, from: { after: last } };
}

function lastEventId(c: Context<GatewayEnv>): string {
  return c.req.header("last-event-id") ?? c.req.query("after") ?? "0";
}

function notAnId(): never {
  throw badRequest("Last-Event-ID is the id of an event of this stream");
}

function badRequest(detail: string): Problem {
  return new Problem({ status: 400, code: "invalid_request", detail });
}
