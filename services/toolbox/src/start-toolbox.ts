import { randomBytes } from "node:crypto";
import { mkdir, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { resolve } from "node:path";
import type { Bus } from "@switchyard/bus/bus";
import { FairSlots } from "@switchyard/bus/fair-slots";
import { follow } from "@switchyard/bus/follow";
import { serve } from "@switchyard/bus/serve";
import { bundleActivated } from "@switchyard/contracts/policy/policy-bundles";
import { callBuiltin } from "@switchyard/contracts/toolbox/toolbox";
import { createExecutionAudit } from "@switchyard/tool-provider/execution-audit";
import type { Audit } from "@switchyard/audit/start-audit";
import type { Log } from "@switchyard/service/log";
import { readCipherKeyFile } from "@switchyard/service/keys-directory";
import { createEgressGuard } from "@switchyard/service/network/egress-guard";
import type { Environment } from "@switchyard/service/env";
import { privatePaths } from "@switchyard/service/process/private-paths";
import { bubblewrapSearch, SandboxError } from "@switchyard/service/process/sandbox";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { StartError } from "@switchyard/service/start-error";
import { createApprovalGate } from "@switchyard/tool-provider/approval-gate";
import { createCallOnce } from "@switchyard/tool-provider/call-once";
import { createCallStore } from "@switchyard/tool-provider/call-store";
import { createDecisionCache } from "@switchyard/tool-provider/decision-cache";
import { createMaskStore, MASKS_LOST } from "@switchyard/tool-provider/mask-store";
import { createPolicyGate } from "@switchyard/tool-provider/policy-gate";
import { createCallsInWork } from "@switchyard/tool-provider/calls-in-work";
import type { Registry } from "prom-client";
import { createCancelPasser } from "./calls/pass-cancel.ts";
import { openCommandCage, type CommandCage } from "./command/command-sandbox.ts";
import {
  commandLimits,
  commandPath,
  MIB,
  securityMode,
  WEB_HOSTS_SETTING,
  type ToolboxConfig,
} from "./config.ts";
import { handle } from "./handlers.ts";
import { createMemoryStore, memoryHolding, type MemoryStore } from "./memory/memory-store.ts";
import { createRestarts } from "./platform/restarts.ts";
import { createAsCaller } from "./platform/as-caller.ts";
import { openToolSettings } from "./platform/tool-settings.ts";
import { createToolboxMetrics, type ToolboxMetrics } from "./toolbox-metrics.ts";
import { createBuiltins } from "./tools/builtins.ts";
import { ToolError } from "./tool-error.ts";
import { fixedWorkspace, ownWorkspaces, type Workspaces } from "./workspace/workspaces.ts";
import { constant } from "@switchyard/service/constant";

export interface ToolboxOptions {
  readonly bus: Bus;
  readonly redis: Redis;
  readonly storage: OwnerStorage;
  readonly log: Log;
  readonly metrics: Registry;
  readonly version: string;
  readonly config: ToolboxConfig;
  readonly env: Environment;
  /** The audit that records calls; null records nothing. */
  readonly audit: Audit | null;
}

export interface Toolbox {
  /** The confinement of commands to their workspace. */
  readonly sandbox: CommandCage["kind"];
  /** No new calls → calls in work end, or are stopped when their share of the time is over. */
  stop(): Promise<void>;
}

/** The part of the drain time that calls in work get; the rest is for ending their commands. */
const CALLS_SHARE = 0.6;
const ARRIVING_PER_SLOT = 4;
const OTHER_CALLS = 128;
const SWEEP_MS = 3_600_000;
const HOUR_MS = 3_600_000;

/** Starts the toolbox on an open bus. Rejects with a StartError when a setting cannot be met. */
export async function startToolbox(options: ToolboxOptions): Promise<Toolbox> {
  const { bus, redis, storage, log, version, config } = options;
  const metrics = createToolboxMetrics(options.metrics);
  const hidden = await realPaths(privatePaths(options.env, homedir()).secret);
  const workspaces = await openWorkspaces(config, hidden);
  const cage = await openCage(config, hidden, log);
  metrics.setSandboxed(cage.kind === "bubblewrap");

  const stopping = new AbortController();
  const holder = randomBytes(8).toString("hex");
  const store = createCallStore(redis, holder, storage);
  const policy = openPolicy(options, metrics);
  const slotLimit = constant("toolboxConcurrency", 32);
  const service = serve(bus, {
    name: "toolbox",
    version,
    // A runner's calls have many requesters, whose shares are known only after the decision, so more calls than slots may come
    // in. Lists and cancels have to get through meanwhile.
    limits: { [callBuiltin.name]: slotLimit * ARRIVING_PER_SLOT },
    concurrency: slotLimit * ARRIVING_PER_SLOT + OTHER_CALLS,
    description:
      "Built-in tools for files, commands, pages and memory, each call after the policy allowed it",
    onFault: ({ error, contract, correlationId }) =>
      log.error({ err: error, contract, correlationId }, "handler fault"),
  });
  const memory = openMemory(options);
  const asCaller = createAsCaller(bus, Date.now);
  const settings = await openToolSettings(config.YARD_TOOLS_FILE, { log, now: Date.now });
  const restarts = createRestarts({ bus, asCaller, log });
  handle(service, {
    tools: createBuiltins({
      memory,
      access: { asCaller, settings, isConfined: cage.kind === "bubblewrap" },
      guard: createEgressGuard({
        permitted: config.YARD_WEB_ALLOW_PRIVATE_HOSTS,
        setting: WEB_HOSTS_SETTING,
      }),
      command: { cage, path: commandPath(config) },
      configDirectory: config.YARD_CONFIG_DIR,
      restarts: { restarts, isPermitted: config.YARD_RESTARTS },
    }),
    workspaces,
    memory,
    ...policy,
    executions: createExecutionAudit(options.audit),
    masks: createMaskStore({
      redis,
      storage,
      keys: await readCipherKeyFile(config.YARD_KEYS_DIR, "masks.key"),
      onLost: (err) => log.error({ err }, MASKS_LOST),
    }),
    store,
    once: createCallOnce({
      store,
      onNotStored: (err) => log.error({ err }, "call outcome not stored yet; trying again"),
    }),
    slots: new FairSlots({ calls: slotLimit, bytes: Number.POSITIVE_INFINITY }),
    slotLimit,
    holder,
    passOn: createCancelPasser(bus),
    stopping: stopping.signal,
    now: Date.now,
    metrics,
  });
  const sweeping = sweepRegularly(workspaces, options);

  return {
    sandbox: cage.kind,
    async stop() {
      clearInterval(sweeping);
      const timer = setTimeout(() => stopping.abort(), config.YARD_DRAIN_MS * CALLS_SHARE);
      await Promise.all([service.drain(), restarts.stop()]);
      clearTimeout(timer);
      policy.end();
    },
  };
}

/** Warns once for each agent whose shared memory a run is not given. */
function openMemory({ redis, storage, log }: ToolboxOptions): MemoryStore {
  const reported = new Set<string>();
  const memory = createMemoryStore(redis, {
    storage,
    onUnread(agent) {
      if (reported.has(agent)) return;
      reported.add(agent);
      log.warn(
        { agent },
        "what the agent keeps for everybody is not given to a run: its file does not say shared_memory, or the policy gives the run's owner no right to share-memory",
      );
    },
  });
  storage.lookUpWith((owner, thing) => memoryHolding(redis, owner, thing));
  return memory;
}

/** Without links; those that do not exist are left as they are. */
function realPaths(paths: readonly string[]): Promise<string[]> {
  return Promise.all(paths.map((path) => realpath(path).catch(() => resolve(path))));
}

async function openWorkspaces(
  config: ToolboxConfig,
  hidden: readonly string[],
): Promise<Workspaces> {
  const { YARD_WORKSPACE: fixed, YARD_WORKSPACES_DIR: parent } = config;
  const mode = securityMode(config);
  const hint =
    "set YARD_WORKSPACES_DIR for a directory for each run, or YARD_WORKSPACE for one for everybody";
  try {
    // In one process, YARD_WORKSPACE may be there for the broker alone.
    if (parent !== undefined) {
      await mkdir(parent, { recursive: true });
      return ownWorkspaces({
        parent,
        scope: config.YARD_WORKSPACE_SCOPE,
        mode,
        limitBytes: config.YARD_WORKSPACE_MB * MIB,
        hidden,
      });
    }
    if (fixed !== undefined) return await fixedWorkspace(fixed, mode, hidden);
    if (mode === "full-control") return await fixedWorkspace(process.cwd(), mode, hidden);
  } catch (cause) {
    const reason = cause instanceof ToolError ? cause.message : `no workspace: ${String(cause)}`;
    throw new StartError(reason, { hint, cause });
  }
  throw new StartError("Workspace directory must be configured in limited-control mode", { hint });
}

async function openCage(
  config: ToolboxConfig,
  secret: readonly string[],
  log: Log,
): Promise<CommandCage> {
  // With full control every tool can access files outside, so a sandbox for commands is pointless.
  const setting = config.YARD_SANDBOX === "full-control" ? "off" : config.YARD_SANDBOX;
  try {
    const cage = await openCommandCage({
      setting,
      bubblewrap: bubblewrapSearch(config),
      readable: config.YARD_SANDBOX_READABLE,
      secret,
      network: config.YARD_SANDBOX_NETWORK,
      limits: commandLimits(config),
    });
    if (cage.kind === "missing")
      log.warn({ reason: cage.reason }, "no sandbox, so no command can run");
    if (cage.kind === "bubblewrap") {
      const { filter, kernelCounts } = cage.sandbox;
      if (filter === null)
        log.warn({ machine: process.arch }, "no system call filter for commands on this machine");
      if (!kernelCounts)
        log.warn(
          "the kernel does not hold the number of processes of a command; they are counted, and a fork bomb may disturb this machine until it is ended",
        );
    }
    return cage;
  } catch (cause) {
    if (!(cause instanceof SandboxError)) throw cause;
    throw new StartError(`YARD_SANDBOX=require cannot be met: ${cause.message}`, {
      hint: "install bubblewrap (or name its directory in YARD_BIN_DIR) and permit user namespaces, or set YARD_SANDBOX to auto",
      cause,
    });
  }
}

function openPolicy({ bus, log }: ToolboxOptions, metrics: ToolboxMetrics) {
  const isOn = constant("toolboxDecisionCache", true);
  // A clock that also advances while the process is suspended, so that cached decisions are outdated when it resumes.
  const cache = isOn ? createDecisionCache(() => performance.now()) : null;
  // The promised time makes the cache right; this makes it empty sooner.
  const following = cache === null ? null : follow(bus, bundleActivated, () => cache.clear());
  const gate = createPolicyGate(bus, {
    cache,
    rolesOf: () => null,
    factsOf: () => null,
    onChecked: (isHit) => metrics.countDecision(isHit),
  });
  const calls = createCallsInWork(bus);
  const approvals = createApprovalGate(bus, {
    onNotSettled: (err, approvalId) => log.warn({ err, approvalId }, "approval not settled"),
  });
  return {
    gate,
    calls,
    approvals,
    end() {
      following?.stop();
      calls.stop();
    },
  };
}

/** Directories of runs that were unused for so long are removed. */
const WORKSPACE_KEEP_HOURS = 168;

function sweepRegularly(workspaces: Workspaces, { log }: ToolboxOptions) {
  const keepMs = WORKSPACE_KEEP_HOURS * HOUR_MS;
  const sweep = (): void => {
    workspaces.sweep(new Date(Date.now() - keepMs)).then(
      (removed) => log.debug({ removed }, "unused workspaces removed"),
      (err: unknown) => log.error({ err }, "unused workspaces not removed"),
    );
  };
  sweep();
  return setInterval(sweep, SWEEP_MS).unref();
}
