/** The argument of a process that stops when its standard input ends. The parent holds the other end of that pipe. */
export const EXIT_WITH_PARENT = "--exit-with-parent";
