import type { Bus } from "@switchyard/bus/bus";
import type { FairTurns } from "@switchyard/bus/fair-turns";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { ExecutionAudit } from "@switchyard/tool-provider/execution-audit";
import type { ActiveRun } from "../journal/active-run.ts";
import type { ParkedRuns } from "../journal/parked-runs.ts";
import type { RunControls } from "../journal/run-controls.ts";
import type { ProviderLimiter } from "../model/provider-limiter.ts";
import type { TeamLedger } from "../model/team-ledger.ts";
import type { ModelRegistry } from "../model/model-registry.ts";
import type { ServiceClients } from "./service-clients.ts";
import type { FileStore } from "./file-store.ts";
import type { RunnerMetrics } from "../model/metrics.ts";
import type { RunTokenKeeper } from "./run-token-keeper.ts";

/** The parts that all runs of a process are driven with. */
export interface DriverParts {
  readonly bus: Bus;
  readonly clients: ServiceClients;
  readonly models: ModelRegistry;
  readonly limiter: ProviderLimiter;
  readonly ledger: TeamLedger;
  readonly controls: RunControls;
  readonly parked: ParkedRuns;
  /** Counts the bytes of owners in Redis, and refuses new work without room. */
  readonly storage: OwnerStorage;
  /** The files of inputs and of tool results. */
  readonly files: FileStore;
  /** Records the starts of child runs. */
  readonly executions: ExecutionAudit;
  readonly metrics: RunnerMetrics;
  /** Turns for the steps of all runs of this process. */
  readonly turns: FairTurns;
  readonly modelIdleTimeoutMs: number;
  /** The time that a run keeps its slot while its models are unavailable; then it returns to the queue. */
  readonly modelOutageMs: number;
  /** The number of tools that a model is shown; it searches for the others. */
  readonly maxToolsPerAgent: number;
  /** Aborts when this runner is to stop: runs are handed over at their next step boundary. */
  readonly stopping: AbortSignal;
  readonly now: () => number;
  readonly random: () => number;
}

/** One run in this runner's hands, and everything that its steps, calls and waits need. */
export interface RunContext extends DriverParts {
  readonly run: ActiveRun;
  readonly tokens: RunTokenKeeper;
  /** Aborts when the run loses its hold, is to be cancelled, or its time is over. */
  readonly signal: AbortSignal;
  /** Aborts also when this runner is to stop: it ends pauses in which no call is under way. */
  readonly waiting: AbortSignal;
}
