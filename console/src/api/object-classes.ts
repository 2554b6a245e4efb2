/** Class of the objects that hold saved views of the console. */
export const VIEW_CLASS = 'ConsoleView';
