import { after } from "node:test";
import type { ServiceDefinition } from "@switchyard/service/define-service";
import type { Environment } from "@switchyard/service/env";
import { Host, ServiceStartError } from "@switchyard/service/host";
import { replaceConstants, type Constants } from "./test-constants.ts";

/** Services that run in the process of a test. */
export interface TestServices {
  readonly healthUrl: string;
  /** Stops them in order. Without time to drain, work in flight is left. Resolves to false when a step of it failed. */
  readonly stop: (drainMs?: number) => Promise<boolean>;
}

export interface TestServicesOptions {
  readonly env: Environment;
  /** Values that replace constants, until the stop. */
  readonly constants?: Constants;
  /** Called with each line of the log. */
  readonly onLine: (line: string) => void;
}

/**
 * Returns a function that starts services as {@link startTestServices} does. They are stopped without time to drain, as by a kill, when the test or
 * file that called this one ends, and before the servers that it starts after this call: hooks run in their order.
 */
export function testServices(): typeof startTestServices {
  const stops: (() => Promise<unknown>)[] = [];
  after(() => Promise.all(stops.map((stop) => stop())));
  return async (definitions, options) => {
    const services = await startTestServices(definitions, options);
    stops.push(() => services.stop(0));
    return services;
  };
}

let starts = 0;

/**
 * Starts services in the process of the test, which saves the start of a process for each and the loading of what the test or an earlier one has
 * loaded. A test that kills them needs processes. The caller stops them before NATS and Redis. Rejects with the error of the service that did not start.
 */
export async function startTestServices(
  definitions: readonly ServiceDefinition[],
  { env, constants = {}, onLine }: TestServicesOptions,
): Promise<TestServices> {
  starts += 1;
  // Replicas in one process need names of their own.
  const restoreName = replaceConstants({ instance: `test-${process.pid}-${starts}` });
  const restore = replaceConstants(constants);
  try {
    const host = new Host(definitions, {
      name: "switchyard",
      version: "0.1.0",
      env,
      begunAtMs: performance.now(),
      logTo: { write: (line) => onLine(line.trimEnd()) },
      onFault: (fault) => {
        throw fault;
      },
    });
    restoreName();
    const stop = (drainMs?: number): Promise<boolean> => host.stop(drainMs).finally(restore);
    return { healthUrl: await healthUrlOf(host), stop };
  } catch (error) {
    restoreName();
    restore();
    throw error instanceof ServiceStartError ? error.cause : error;
  }
}

/** Starts a host, and stops it when that fails. */
async function healthUrlOf(host: Host): Promise<string> {
  try {
    return await host.start();
  } catch (error) {
    await host.stop(0);
    throw error;
  }
}
