import { runService } from "@switchyard/service/run-service";
import { policyService } from "./service.ts";

await runService(policyService);
