import { connect } from "@nats-io/transport-node";

/** The baseline: a hand-written responder that reads the same request and writes the same reply, and decides nothing. */
const nc = await connect({ servers: process.env["BENCH_NATS_URL"] ?? "" });
const reply: unknown = JSON.parse(process.env["BENCH_REPLY"] ?? "null");
nc.subscribe("raw.check", {
  queue: "q",
  callback: (_, message) => {
    const { tool } = message.json<{ tool: { name: string } }>();
    message.respond(JSON.stringify({ ok: tool.name !== "", value: reply }));
  },
});
await nc.flush();
process.on("SIGTERM", () => void nc.drain());
process.send?.("ready");
process.channel?.unref();
