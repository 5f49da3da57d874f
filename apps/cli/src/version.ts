/** The version of this command line and of what `yard dev` starts. */
export const VERSION = "0.1.0";
