import { createHash, randomBytes } from "node:crypto";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { grantRun } from "@switchyard/contracts/policy/policy-grants";
import type { RunReservation } from "@switchyard/contracts/policy/run-claims";
import type { Redis } from "@switchyard/service/redis";
import type { z } from "zod";

type Grant = z.input<typeof grantRun.request>;
type Granted = z.output<typeof grantRun.reply>;

/** A runner process from the policy's point of view. Claims are written as services/agent-runner does (journal-scripts.ts). */
export interface TestRunner {
  readonly redis: Redis;
  /** Writes into Redis that it has claimed the run, unless it wrote that before. */
  hold(runId: string, state?: Readonly<Record<string, string>>): Promise<void>;
  /** Writes into Redis that it prepares a run that does not exist yet. */
  reserve(runId: string, parent?: string): Promise<void>;
  /** Requests a token without having claimed the run. */
  ask(request: Grant, options?: { readonly timeoutMs?: number }): Promise<Granted>;
  /** Claims the run and requests a token. */
  grantRun(request: Grant, options?: { readonly timeoutMs?: number }): Promise<Granted>;
}

export function asRunner(bus: Bus, redis: Redis): TestRunner {
  const instance = randomBytes(32).toString("base64url");
  const holder = createHash("sha256").update(instance).digest("base64url");
  const held = new Set<string>();
  const runner: TestRunner = {
    redis,
    async hold(runId, state = {}) {
      if (held.has(runId)) return;
      const heldUntil = String(Date.now() + 3_600_000);
      const claim = { status: "running", holder, epoch: "1", heldUntil, ...state };
      await redis.hset(`yard:run:{${runId}}:state`, claim);
      held.add(runId);
    },
    async reserve(runId, parent) {
      const reservation: RunReservation = { holder, parent: parent ?? null };
      await redis.set(`yard:run:{${runId}}:claim`, JSON.stringify(reservation));
    },
    ask: (request, options) => call(bus, grantRun, { instance, ...request }, options),
    async grantRun(request, options) {
      await runner.hold(request.runId);
      return runner.ask(request, options);
    },
  };
  return runner;
}
