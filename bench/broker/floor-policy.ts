import { connect } from "@nats-io/transport-node";

/** The floor's policy: it allows everything. */
const nc = await connect({ servers: process.env["BENCH_NATS_URL"] ?? "" });
nc.subscribe("floor.policy", {
  queue: "q",
  callback: (_, message) => {
    message.respond(JSON.stringify({ allow: message.json<{ tool: string }>().tool !== "" }));
  },
});
await nc.flush();
process.on("SIGTERM", () => void nc.drain());
process.send?.("ready");
process.channel?.unref();
