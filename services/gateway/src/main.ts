import { runService } from "@switchyard/service/run-service";
import { gatewayService } from "./service.ts";

await runService(gatewayService);
