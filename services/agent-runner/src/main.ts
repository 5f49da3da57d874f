import { runService } from "@switchyard/service/run-service";
import { runnerService } from "./service.ts";

await runService(runnerService);
