import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import { serve } from "@switchyard/bus/serve";
import { ServiceError } from "@switchyard/contracts/errors";
import { sessionEnded } from "@switchyard/contracts/agent-runner/session-events";
import { runCommands } from "@switchyard/topology/streams";
import { z } from "zod";
import { natsEnv, processEnv, redisEnv } from "../src/env.ts";
import { defineService } from "../src/define-service.ts";
import { fixtureCall } from "./fixture-contract.ts";

/** A service with one contract. */
export const fixture = defineService({
  name: "fixture",
  user: "fixture",
  version: "1.2.3",
  env: z.object({
    ...processEnv,
    ...natsEnv,
    ...redisEnv,
    FIXTURE_START: z.enum(["ready", "fault", "hang"]).default("ready"),
  }),
  consumers: [runCommands],
  async start(kit) {
    const { promise: stopping, resolve: stop } = Promise.withResolvers<void>();
    kit.onStop("fixture", async () => {
      kit.log.info("fixture undone");
      stop();
    });
    if (kit.config.FIXTURE_START === "fault") throw new TypeError("a bug in start");
    let isHealthy = true;
    kit.ready("fixture", () => isHealthy);
    if (kit.config.FIXTURE_START === "hang") {
      kit.log.info("fixture hangs");
      await new Promise(() => {});
    }
    const service = serve(kit.bus, {
      name: "fixture",
      version: "1.2.3",
      description: "Fixture",
      onFault: ({ error }) => kit.log.error({ err: error }, "handler fault"),
    });
    service.handle(fixtureCall, async ({ does }) => {
      kit.log.info({ does }, "handler entered");
      switch (does) {
        case "wait-for-stop":
          await stopping;
          return { key: await kit.redis.set("yard:fixture", "set while stopping") };
        case "hang":
          return new Promise(() => {});
        case "throw-later":
          setImmediate(() => {
            throw new Error("a bug outside every handler");
          });
          return { key: null };
        case "reject-later":
          void Promise.reject(new Error("an unhandled rejection"));
          return { key: null };
        case "lose-later":
          void Promise.reject(new Error("Connection is closed."));
          return { key: null };
        case "store":
          return { key: await storeOnce(kit.bus) };
        case "restart":
          kit.restart?.();
          return { key: kit.restart === null ? "not permitted" : null };
        case "fall-ill":
          isHealthy = false;
          return { key: null };
        default:
          return does satisfies never;
      }
    });
    await kit.bus.flush();
  },
});

/** Stores an event; gives the code of what went wrong, or null. */
async function storeOnce(bus: Bus): Promise<string | null> {
  const sessionId = `ses-${"0".repeat(26)}-1`;
  const said = { sessionId, key: "k", owner: "fixture", seq: 1, at: new Date().toISOString() };
  try {
    await publishEvent(bus, sessionEnded, { owner: "cli", sessionId }, { ...said, reason: "idle" });
    return null;
  } catch (error) {
    return error instanceof ServiceError ? error.code : String(error);
  }
}
