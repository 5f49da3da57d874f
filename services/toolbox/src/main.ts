import { runService } from "@switchyard/service/run-service";
import { toolboxService } from "./service.ts";

await runService(toolboxService);
