import type { Bus } from "@switchyard/bus/connect";
import type { ExecutionAudit } from "@switchyard/service/audit/execution-audit";
import type { ProviderLimiter } from "../limits/provider-limiter.ts";
import type { TeamLedger } from "../limits/team-ledger.ts";
import type { RunnerMetrics } from "../telemetry/metrics.ts";
import type { ModelRegistry } from "../model/model-registry.ts";
import type { Peers } from "../peers/peers.ts";
import type { Listing } from "../tools/listed-tool.ts";
import type { ParkedRuns } from "../waits/parked-runs.ts";
import type { ActiveRun } from "../journal/active-run.ts";
import type { RunControls } from "../journal/run-controls.ts";
import type { RunTokenKeeper } from "../tools/run-token-keeper.ts";

/** What a run is driven with. */
export interface DriverOptions {
  readonly run: ActiveRun;
  readonly bus: Bus;
  readonly peers: Peers;
  readonly models: ModelRegistry;
  readonly limiter: ProviderLimiter;
  readonly ledger: TeamLedger;
  readonly tokens: RunTokenKeeper;
  /** The tools of a new run, when somebody has asked for them already. */
  readonly listing?: Promise<Listing> | undefined;
  readonly controls: RunControls;
  readonly parked: ParkedRuns;
  /** Records the starts of child runs. */
  readonly executions: ExecutionAudit;
  readonly metrics: RunnerMetrics;
  readonly modelIdleTimeoutMs: number;
  readonly maxToolsPerAgent: number;
  /** Aborts when this runner wants to stop: the run is handed over at the next step boundary. */
  readonly stopping: AbortSignal;
  readonly now: () => number;
  readonly random: () => number;
}
