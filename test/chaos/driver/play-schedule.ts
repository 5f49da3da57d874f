import { setTimeout as delay } from "node:timers/promises";
import type { ProxyFault } from "../world/fault-proxy.ts";
import type { World } from "../world/world.ts";
import type { Fault } from "./fault.ts";

/** Executes the schedule, and resolves when every part is whole again and every service ready. */
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

/** Begins a fault; the returned function ends it. */
function begin(world: World, fault: Fault): () => Promise<void> {
  const undone = fault.parts.map((part) => beginAt(world, part, fault));
  return async () => {
    await Promise.all(undone.map(async (undo) => undo()));
  };
}

function beginAt(world: World, name: string, fault: Fault): () => Promise<void> | void {
  if ("route" in fault) {
    const proxy = world.service(name).routes[fault.route];
    proxy.inject(proxyFaultOf(fault));
    return () => proxy.heal();
  }
  const server = [world.nats, world.redis].find((one) => one.name === name);
  if (fault.kind === "fill-disk") {
    if (server === undefined) throw new RangeError(`${name} has no disk`);
    server.fillDisk();
    return () => server.makeRoom();
  }
  const part = server ?? world.service(name).process;
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
