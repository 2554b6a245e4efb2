/** The class of the objects that saved views of the console are. */
export const VIEW_CLASS = 'ConsoleView';
