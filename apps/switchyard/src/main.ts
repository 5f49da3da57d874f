import { failStart, runServices } from "@switchyard/service/run-service";
import { chosenServices } from "./chosen-services.ts";

const NAME = "switchyard";

const services = await chosenServices(process.env["YARD_SERVICES"] ?? "").catch((error: unknown) =>
  failStart(NAME, error),
);
await runServices(services, { name: NAME, version: "0.1.0" });
