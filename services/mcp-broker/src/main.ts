import { runService } from "@switchyard/service/run-service";
import { brokerService } from "./service.ts";

await runService(brokerService);
