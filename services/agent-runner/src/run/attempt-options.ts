import type { Bus } from "@switchyard/bus/connect";
import type { ExecutionAudit } from "@switchyard/service/audit/execution-audit";
import type { Log } from "@switchyard/service/log";
import type { DeadLetters } from "../commands/dead-letters.ts";
import type { RunEventRelay } from "../events/event-publisher.ts";
import type { RunIndex } from "../journal/run-index.ts";
import type { RunNames } from "../journal/run-names.ts";
import type { RunStore } from "../journal/run-store.ts";
import type { ProviderLimiter } from "../limits/provider-limiter.ts";
import type { TeamLedger } from "../limits/team-ledger.ts";
import type { RunnerMetrics } from "../telemetry/metrics.ts";
import type { ModelRegistry } from "../model/model-registry.ts";
import type { Peers } from "../peers/peers.ts";
import type { SessionDesk } from "../sessions/session-desk.ts";
import type { ParkedRuns } from "../waits/parked-runs.ts";
import type { ActiveRuns } from "../journal/active-runs.ts";
import type { RunControls } from "../journal/run-controls.ts";
import type { RunDefaults } from "../start/run-limits.ts";

/** What it takes to work on runs. */
export interface AttemptOptions extends RunDefaults {
  readonly bus: Bus;
  readonly relay: RunEventRelay;
  readonly store: RunStore;
  readonly names: RunNames;
  readonly controls: RunControls;
  readonly parked: ParkedRuns;
  readonly letters: DeadLetters;
  readonly active: ActiveRuns;
  readonly index: RunIndex;
  readonly peers: Peers;
  readonly models: ModelRegistry;
  readonly limiter: ProviderLimiter;
  readonly ledger: TeamLedger;
  readonly sessions: SessionDesk;
  /** Records the starts of child runs. */
  readonly executions: ExecutionAudit;
  readonly metrics: RunnerMetrics;
  readonly log: Log;
  /** Picks without progress after which a run has failed. */
  readonly maxAttempts: number;
  readonly modelIdleTimeoutMs: number;
  /** How many tools a model is shown; it searches for the others. */
  readonly maxToolsPerAgent: number;
  /** Aborts when this runner is to stop. */
  readonly stopping: AbortSignal;
  readonly now: () => number;
  readonly random: () => number;
}
