import { runService } from "@switchyard/service/run-service";
import { Config } from "./config.ts";
import { openEventHub } from "./events/event-hub.ts";
import { createApp } from "./http/app.ts";
import { knownHosts, listenHttp } from "./http/listen.ts";
import { createRateLimit } from "./identity/rate-limit.ts";
import { openUserDesk } from "./identity/user-desk.ts";

await runService({
  name: "gateway",
  user: "gateway",
  version: "0.1.0",
  env: Config,
  async start(kit) {
    const { bus, redis, log, config } = kit;
    const now = Date.now;
    const isKnownHost = knownHosts(config.YARD_HTTP_HOST, config.YARD_HTTP_HOSTS);
    const desk = openUserDesk(bus, now);
    const hub = openEventHub(bus, log);
    kit.ready("events", () => hub.isReading() || "the stream of events cannot be read");
    const app = createApp({
      bus,
      log,
      desk,
      hub,
      isKnownHost,
      rateLimit: createRateLimit(redis),
      requestsPerMinute: config.YARD_HTTP_REQUESTS_PER_MINUTE,
      now,
    });
    const http = await listenHttp(app, {
      host: config.YARD_HTTP_HOST,
      port: config.YARD_HTTP_PORT,
    });
    kit.describe("http", http.url);
    // Steps run in reverse: no new requests, readers are sent away, requests in work end.
    kit.onStop("users", async () => desk.stop());
    kit.onStop("http", async () => {
      const closed = http.stop();
      await hub.stop();
      await closed;
    });
    log.info({ url: http.url }, "http ready");
  },
});
