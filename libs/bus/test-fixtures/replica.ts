// One more process of a service, for tests that stop it: `replica.ts <NATS url>`.

import { connectBus } from "../src/connect.ts";
import { serve } from "../src/serve.ts";
import { whoami } from "./whoami.ts";

const bus = await connectBus({ servers: process.argv[2] ?? "", user: "oracle" });
const service = serve(bus, {
  name: "oracle",
  version: "1.0.0",
  description: "Says which process it is",
  onFault: ({ error }) => void process.stderr.write(`${String(error)}\n`),
});
service.handle(whoami, () => ({ pid: process.pid }));
await bus.flush();
process.stdout.write("ready\n");
