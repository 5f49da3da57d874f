import { RunReader } from "@switchyard/client/run-reader";
import type { Bus } from "@switchyard/bus/bus";
import { storedRunEvents } from "@switchyard/service/read-run-events";
import type { StoredEvent } from "@switchyard/bus/stored-event";
import { ServiceError, isError } from "@switchyard/contracts/errors";
import { runTokens, fullRunId, ownerOfRun } from "@switchyard/contracts/ids";
import { runLive } from "@switchyard/contracts/agent-runner/run-events";
import { listRunEvents } from "@switchyard/contracts/agent-runner/run-history";
import type { RunWait } from "@switchyard/contracts/agent-runner/run-waits";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import { call } from "@switchyard/bus/call";
import type { CallOptions } from "@switchyard/bus/call-options";
import type { z } from "zod";
import type { EventHub } from "../events/event-hub.ts";
import type { Requester } from "../identity/requester.ts";
import type { UserCache, User } from "../identity/user-cache.ts";
import type { AcceptedRuns } from "./accepted-runs.ts";
import { endOf, readRunEvent, type RunEnd, type RunEvent } from "./run-event.ts";
import { StepText, type TextItem } from "./step-text.ts";

export type RunItem = TextItem | RunEvent | RunEnd;

export interface FollowParts {
  readonly bus: Bus;
  readonly hub: EventHub;
  readonly users: UserCache;
  readonly accepted: AcceptedRuns;
}

export interface RunFollow {
  readonly runId: string;
  /** Each event once, in order, with the text between them. Ends after the item `end`. Rejects with a ServiceError when it cannot continue. */
  readonly items: AsyncGenerator<RunItem, void, undefined>;
  /** Stops following; the run is not affected. */
  stop(): void;
}

/** The number of items that may wait for a reader; a reader that is further behind is cut. */
const MOST_WAITING = 20_000;

/**
 * Follows a run to its end, from now on, or with `history` from its beginning. The subscriptions are open when this returns, so
 * a caller that must miss nothing calls it before it starts the run. Errors: `gateway_stopping`, `credential_ended`,
 * `too_slow`.
 */
export function followRun(
  { bus, hub, users }: FollowParts,
  requester: Requester,
  { runId, history = false }: { readonly runId: string; readonly history?: boolean },
): RunFollow {
  const { owner, runId: name } = runTokens(runId);
  const subject = `yard.evt.run.${owner}.${name}.`;
  const stopping = new AbortController();
  const waiting: (StoredEvent | Delta)[] = [];
  let failure: ServiceError | null = null;
  let wake: (() => void) | null = null;
  const push = (item: StoredEvent | Delta): void => {
    if (waiting.push(item) > MOST_WAITING) end(new ServiceError("too_slow", TOO_SLOW));
    wake?.();
  };
  const end = (why: ServiceError | null): void => {
    if (stopping.signal.aborted) return;
    failure = why;
    for (const stop of stops) stop();
    stopping.abort();
    wake?.();
  };
  const stops = [
    hub.onEvent((event) => event.subject.startsWith(subject) && push(event)),
    hub.onLive({ owner, name }, (payload) => {
      const delta = runLive.payload.safeParse(payload);
      if (delta.success) push(delta.data);
    }),
    hub.onStop(() => end(new ServiceError("gateway_stopping", STOPPING))),
    users.onEnded(requester.signedIn, () =>
      end(new ServiceError("credential_ended", CREDENTIAL_ENDED)),
    ),
  ];

  const items = async function* (): AsyncGenerator<RunItem, void, undefined> {
    const reader = new RunItems(requester, runId);
    try {
      if (history) {
        const stored: StoredEvent[] = [];
        for await (const event of storedRunEvents(bus, {
          runId,
          signal: stopping.signal,
          fromJournal: (request) => requester.ask(listRunEvents, request),
          follows: true,
        }))
          stored.push(event);
        waiting.unshift(...stored);
      }
      while (!stopping.signal.aborted) {
        const next = waiting.shift();
        if (next === undefined) {
          await new Promise<void>((resolve) => (wake = resolve));
          continue;
        }
        for (const item of reader.take(next)) yield item;
        // A run that was retried has an end in its past.
        if (reader.end !== null && !waiting.some((item) => "subject" in item)) {
          yield* reader.answer();
          return;
        }
      }
      if (failure !== null) throw failure;
    } finally {
      end(null);
    }
  };
  return { runId, items: items(), stop: () => end(null) };
}

interface Delta {
  readonly step: number;
  readonly delta: string;
  readonly kind?: "delta" | "reset-step" | undefined;
}

const TOO_SLOW = "the run's events were not read in time: read GET /api/v1/runs/{id}";
const STOPPING = "this gateway stops; the run continues: send the same again to follow it";
const CREDENTIAL_ENDED = "the credential has ended; the run continues";

/** The items that the events and texts of a run become. */
class RunItems {
  readonly #requester: Requester;
  readonly #runId: string;
  readonly #text = new StepText();
  readonly #events = new RunReader<RunEnd>();
  #isWhole = true;
  /** The questions of the run by call: the event that the run waits names the call alone. */
  readonly #questions = new Map<string, Pick<RunWait, "question" | "options" | "schema">>();

  constructor(requester: Requester, runId: string) {
    this.#requester = requester;
    this.#runId = runId;
  }

  /** Set while the latest event is one that ends the run. */
  get end(): RunEnd | null {
    return this.#events.end;
  }

  take(message: StoredEvent | Delta): RunItem[] {
    if (!("subject" in message)) return this.#live(message);
    const event = readRunEvent(message);
    if (event === null) return [];
    const isNew = this.#events.take(event.name, event.facts, () =>
      endOf(event, this.#events.hasBegun),
    );
    // The history contains events that also arrived live.
    if (!isNew) return [];
    if (event.name === "question-requested") {
      const { callId, question, options, schema } = event.facts;
      this.#questions.set(callId, { question, options, ...(schema !== undefined && { schema }) });
    }
    if (event.name === "waiting") {
      const waits = event.facts.waits.map((wait) => this.#withQuestion(wait));
      return [{ ...event, facts: { ...event.facts, waits } }];
    }
    if (event.name === "finished") this.#isWhole = !isCut(event.facts, "output");
    if (event.name !== "model-responded") return this.end === null ? [event] : [];
    const { step, text } = event.facts;
    return [...this.#text.end(step, text, isCut(event.facts, "text")), event];
  }

  #withQuestion(wait: RunWait): RunWait {
    return { ...wait, ...this.#questions.get(wait.callId) };
  }

  #live({ step, delta, kind }: Delta): TextItem[] {
    return kind === "reset-step" ? this.#text.reset(step) : this.#text.add(step, delta);
  }

  /** Yields the rest of the answer's text and the end. An answer that is too long for its event is read from the run. */
  async *answer(): AsyncGenerator<RunItem, void, undefined> {
    if (this.end === null) return;
    let { output } = this.end;
    if (!this.#isWhole) {
      const { run } = await this.#requester.ask(getRun, { runId: this.#runId });
      output = run.output ?? output;
    }
    if (this.end.status === "succeeded") yield* this.#text.answer(output);
    yield { ...this.end, output };
  }
}

function isCut(
  { abridged = [] }: { readonly abridged?: readonly { readonly field: string }[] | undefined },
  field: string,
): boolean {
  return abridged.some((one) => one.field === field);
}

/**
 * Returns a run from the runners; the caller's own run that no runner has started is described by its accepted command. Rejects
 * with a ServiceError.
 */
export async function readRun(
  { bus, accepted }: { readonly bus: Bus; readonly accepted: AcceptedRuns },
  { caller }: User,
  {
    request,
    options,
  }: {
    readonly request: z.output<typeof getRun.request>;
    readonly options: Pick<CallOptions, "userToken" | "correlationId" | "signal">;
  },
): Promise<z.input<typeof getRun.reply>> {
  try {
    return await call(bus, getRun, request, options);
  } catch (error) {
    if (!isError(error, getRun, "unknown_run")) throw error;
    const runId = fullRunId(caller, request.runId);
    if (error.data.isDeleted === true) {
      await accepted.forget(runId);
      throw error;
    }
    const run = ownerOfRun(runId) === caller ? await accepted.find(runId) : null;
    if (run === null) throw error;
    return { run };
  }
}
