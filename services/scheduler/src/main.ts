import { runService } from "@switchyard/service/run-service";
import { schedulerService } from "./service.ts";

await runService(schedulerService);
