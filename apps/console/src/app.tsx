import { computed } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { address, matchPath } from "./core/router.ts";
import { problemOf, session } from "./core/session.ts";
import { SignIn } from "./pages/sign-in.tsx";
import { views, type View } from "./routes.ts";
import { QuestionHost } from "./ui/dialog.tsx";
import { Page } from "./ui/page.tsx";
import { Empty, Loading, ProblemNote } from "./ui/resource-view.tsx";
import { Shell } from "./ui/shell.tsx";
import { ToastHost } from "./ui/toast-host.tsx";

interface Match {
  readonly view: View;
  readonly params: Readonly<Record<string, string>>;
}

const match = computed<Match | null>(() => {
  const { pathname } = address.value;
  for (const view of views) {
    const params = matchPath(view.path, pathname);
    if (params !== null) return { view, params };
  }
  return null;
});

export function App() {
  const state = session.value;
  return (
    <>
      {state.phase === "checking" && <Loading />}
      {state.phase === "signed-out" && <SignIn {...state} />}
      {state.phase === "signed-in" && (
        <Shell>
          <CurrentView />
        </Shell>
      )}
      <ToastHost />
      <QuestionHost />
    </>
  );
}

function CurrentView() {
  const found = match.value;
  if (found === null) return <NotFound />;
  const { path, stays } = found.view;
  return (
    <LoadedView key={stays ?? `${path} ${Object.values(found.params).join(" ")}`} {...found} />
  );
}

type Loaded = ComponentType<{ params: Readonly<Record<string, string>> }>;

const AGAIN_AFTER_MS = 1_000;
const RELOADED = "switchyard.reloaded";

/**
 * A view's code may not come: the gateway starts anew, or it has another version of the console. So it is loaded again, then with the
 * whole page, which happens once for an address, and after that the person decides.
 */
async function loadTwice(view: View): Promise<Loaded> {
  try {
    const loaded = await view.load().catch(async () => {
      await new Promise((resolve) => setTimeout(resolve, AGAIN_AFTER_MS));
      return view.load();
    });
    sessionStorage.removeItem(RELOADED);
    return loaded;
  } catch (error) {
    if (sessionStorage.getItem(RELOADED) === location.pathname) throw error;
    sessionStorage.setItem(RELOADED, location.pathname);
    location.reload();
    return new Promise(() => {});
  }
}

function LoadedView({ view, params }: Match) {
  const [state, setState] = useState<{ view: Loaded } | { error: unknown } | null>(null);
  useEffect(() => {
    loadTwice(view).then(
      (loaded) => setState({ view: loaded }),
      (error: unknown) => setState({ error }),
    );
  }, [view]);
  if (state === null) return <Loading />;
  if ("error" in state)
    return <ProblemNote problem={problemOf(state.error)} onRetry={() => location.reload()} />;
  const Loaded = state.view;
  return <Loaded params={params} />;
}

function NotFound() {
  return (
    <Page title="Not here" about="There is no view under this address.">
      <Empty>
        <p>The navigation shows what there is; ⌘K or Ctrl-K finds it by name.</p>
        <a class="button" href="/">
          To the overview
        </a>
      </Empty>
    </Page>
  );
}
