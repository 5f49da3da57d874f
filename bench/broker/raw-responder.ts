import { connect } from "@nats-io/transport-node";
import { reply } from "./echo-contract.ts";

/** The baseline: what a hand-written responder with nats.js does, JSON included. `BENCH_REPLY` replaces the echo's reply. */
const value: unknown = JSON.parse(process.env["BENCH_REPLY"] ?? JSON.stringify(reply));
const nc = await connect({ servers: process.env["BENCH_NATS_URL"] ?? "" });
nc.subscribe("raw.echo", {
  queue: "q",
  callback: (_, message) => {
    const { tool } = message.json<{ tool: { name: string } }>();
    message.respond(JSON.stringify({ ok: tool.name !== "", value }));
  },
});
await nc.flush();
process.on("SIGTERM", () => void nc.drain());
process.send?.("ready");
process.channel?.unref();
