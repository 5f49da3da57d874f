import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { anonymousUser } from "@switchyard/topology/topology";
import { testConstants } from "@switchyard/testing/test-constants";
import { startYardDev, type DevInstance } from "../../test/lib/yard-dev.ts";
import type { Stage } from "./stage.ts";

/**
 * Starts the whole of Switchyard on a project, the benchmarks' own when none is named, and connects to it as a client without
 * credentials. Ends with the stage.
 */
export async function startSwitchyard(
  stage: Stage,
  options: {
    runners: number;
    /** False: all services in one process. */
    apart?: boolean;
    project?: string;
    env?: Record<string, string>;
  },
): Promise<{ bus: Bus; instance: DevInstance; end: () => Promise<void> }> {
  const instance = await startYardDev({
    project: options.project ?? "bench/project",
    stateDir: await stage.directory(),
    runners: options.runners,
    // Services are apart as on a cluster, so that figures name each service.
    apart: options.apart ?? true,
    // A benchmark is one user, which has used up its audit records of an hour within minutes.
    env: {
      YARD_RUNNER_SLOTS: "64",
      ...options.env,
      ...testConstants({ auditPerUserHour: 0 }, options.env),
    },
  });
  let isEnded = false;
  const end = async (): Promise<void> => {
    if (isEnded) return;
    isEnded = true;
    await bus.close();
    await instance.stop();
  };
  const bus = await connectBus({
    servers: instance.natsUrl,
    user: anonymousUser.name,
    inboxPrefix: anonymousUser.inboxPrefix,
  });
  stage.onEnd(end);
  return { bus, instance, end };
}
