const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * The first signal requests an orderly stop, the second one ends everything at once. With `exitWithParent`, as for the
 * services, the end of stdin counts as a signal: a program that starts us leaves nothing behind when it is killed.
 */
export function onStopSignals(options: {
  stop: () => void;
  kill: () => void;
  exitWithParent: boolean;
}): { remove(): void } {
  let isStopping = false;
  const onSignal = (): void => {
    if (isStopping) {
      options.kill();
      return;
    }
    isStopping = true;
    options.stop();
  };
  const onParentGone = (): void => {
    if (!isStopping) onSignal();
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  if (options.exitWithParent) process.stdin.once("close", onParentGone).resume();
  return {
    remove() {
      if (options.exitWithParent) process.stdin.off("close", onParentGone).destroy();
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
}
