import { TOGETHER, TOGETHER_ENTRY } from "./service-plan.ts";
import { killProcess, launchService, loadService } from "./service-process.ts";

/** The process of all services, which has been started before what it needs: it loads its code meanwhile. */
export interface EarlyServices {
  /** As `launchService`, with that process for the first start. */
  readonly launch: typeof launchService;
  /** Ends the process when it was not needed. */
  end(): void;
}

export function startServicesEarly(env: NodeJS.ProcessEnv): EarlyServices {
  let loading: ReturnType<typeof loadService> | undefined = loadService(TOGETHER_ENTRY, env);
  return {
    launch(spec, options) {
      if (spec.name !== TOGETHER || loading === undefined) return launchService(spec, options);
      const first = loading;
      loading = undefined;
      return launchService(spec, { ...options, loading: first });
    },
    end() {
      if (loading !== undefined) killProcess(loading.child);
      loading = undefined;
    },
  };
}
