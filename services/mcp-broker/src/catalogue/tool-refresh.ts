import { errorText } from "../calls/call-failure.ts";

export interface ToolRefresh {
  /** The list has changed. */
  request(): void;
  /** From now on a change is read, and one from before too. */
  start(read: () => Promise<void>): void;
  stop(): void;
}

/**
 * Reads the tool list again when the server says that it changed. A change during a reading, or
 * before the session is there, leads to one more reading.
 */
export function createToolRefresh(onTrouble: (problem: string) => void): ToolRefresh {
  const state: { read: (() => Promise<void>) | null; isReading: boolean; isStale: boolean } = {
    read: null,
    isReading: false,
    isStale: false,
  };
  const run = async (): Promise<void> => {
    if (state.isReading) return;
    state.isReading = true;
    try {
      while (state.isStale && state.read !== null) {
        state.isStale = false;
        await state.read();
      }
    } catch (error) {
      if (state.read !== null)
        onTrouble(`the changed tool list could not be read: ${errorText(error)}`);
    } finally {
      state.isReading = false;
    }
  };
  return {
    request(): void {
      state.isStale = true;
      void run();
    },
    start(reader: () => Promise<void>): void {
      state.read = reader;
      void run();
    },
    stop(): void {
      state.read = null;
    },
  };
}
