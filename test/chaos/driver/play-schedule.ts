import { setTimeout as delay } from "node:timers/promises";
import type { ProxyFault } from "../world/fault-proxy.ts";
import type { World } from "../world/world.ts";
import type { Fault } from "./schedule.ts";

/** Does what the schedule says, and resolves when every part is whole again and every service ready. */
export async function playSchedule(world: World, faults: readonly Fault[]): Promise<void> {
  const startedAt = performance.now();
  const until = (atMs: number): Promise<void> =>
    delay(Math.max(0, startedAt + atMs - performance.now()));
  await Promise.all(
    faults.map(async (fault) => {
      await until(fault.atMs);
      const undo = begin(world, fault);
      await until(fault.atMs + fault.lastsMs);
      await undo();
    }),
  );
  await world.allReady();
}

/** Begins a fault; what it returns ends it. */
function begin(world: World, fault: Fault): () => Promise<void> | void {
  if ("route" in fault) {
    const proxy = world.service(fault.part).routes[fault.route];
    proxy.inject(proxyFaultOf(fault));
    return () => proxy.heal();
  }
  const server = [world.nats, world.redis].find(({ name }) => name === fault.part);
  const part = server ?? world.service(fault.part).process;
  if (fault.kind === "freeze") {
    part.freeze();
    return () => part.thaw();
  }
  part.takeDown(fault.kind === "kill" ? "SIGKILL" : "SIGTERM");
  return () => part.restore();
}

function proxyFaultOf({ kind, amount }: Extract<Fault, { route: string }>): ProxyFault {
  if (kind === "latency") return { kind, ms: amount };
  if (kind === "cut") return { kind, bytes: amount };
  return { kind };
}
