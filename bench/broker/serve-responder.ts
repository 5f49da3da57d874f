import { connectBus } from "@switchyard/bus/connect";
import { serve } from "@switchyard/bus/serve";
import { echo, reply } from "./echo-contract.ts";

const bus = await connectBus({ servers: process.env["BENCH_NATS_URL"] ?? "", user: "bench" });
const service = serve(bus, {
  name: "bench",
  version: "1.0.0",
  description: "Echo",
  concurrency: 1_024,
  onFault: ({ error }) => console.error(error),
});
service.handle(echo, () => reply);
await bus.flush();
process.on("SIGTERM", () => void bus.drain());
process.send?.("ready");
process.channel?.unref();
