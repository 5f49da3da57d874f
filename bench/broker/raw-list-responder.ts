import { readFile } from "node:fs/promises";
import { connect } from "@nats-io/transport-node";

/** The baseline: answers every request with the same list, written as JSON each time. */
const list: unknown = JSON.parse(await readFile(process.env["BENCH_LIST_FILE"] ?? "", "utf8"));
const nc = await connect({ servers: process.env["BENCH_NATS_URL"] ?? "" });
nc.subscribe("raw.list", {
  queue: "q",
  callback: (_, message) => void message.respond(JSON.stringify(list)),
});
await nc.flush();
process.on("SIGTERM", () => void nc.drain());
process.send?.("ready");
process.channel?.unref();
