import type { Log } from "@switchyard/service/log";
import type { InspectAnswer } from "../waits/inspect-answer.ts";
import type { DeadLetters } from "../commands/dead-letters.ts";
import type { DriverParts } from "../context/run-context.ts";
import type { RunEventRelay } from "../journal/event-publisher.ts";
import type { ActiveRuns } from "../journal/active-run.ts";
import type { DeferredCommands } from "../journal/deferred-commands.ts";
import type { RunIndex } from "../journal/run-index.ts";
import type { RunStore } from "../journal/run-store.ts";
import type { UnsyncedEvents } from "../journal/unsynced-events.ts";
import type { PublishBehind } from "./publish-behind.ts";
import type { RuntimeHosts } from "../runtime/runtime-hosts.ts";
import type { SessionParts } from "../sessions/session-parts.ts";
import type { RunDefaults } from "../start/prepare-run.ts";

/** The parts of a runner: all that a delivery needs, from its command to the end of its run. */
export interface RunnerParts extends DriverParts, RunDefaults {
  readonly relay: RunEventRelay;
  readonly store: RunStore;
  readonly letters: DeadLetters;
  readonly kept: DeferredCommands;
  readonly active: ActiveRuns;
  readonly index: RunIndex;
  readonly sessions: SessionParts;
  readonly behind: PublishBehind;
  readonly unwritten: UnsyncedEvents;
  readonly runtimes: RuntimeHosts;
  readonly inspectAnswer: InspectAnswer;
  readonly log: Log;
  /** The number of pick-ups without progress after which a run has failed. */
  readonly maxAttempts: number;
}
