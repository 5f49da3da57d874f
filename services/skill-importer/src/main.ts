import { runService } from "@switchyard/service/run-service";
import { importerService } from "./service.ts";

await runService(importerService);
