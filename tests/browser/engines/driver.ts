/** A browser that Playwright does not drive: as much of it as the tests of all engines need. */
export interface Driver {
  /** The engine's name. */
  name: string;
  /** What of it is not on this machine; undefined where all is. */
  missing?: string;
  /** Starts it anew: nothing is known of earlier tabs. */
  open(): Promise<Tab>;
}

export interface Tab {
  /** Goes to an address, and waits until the document is loaded. */
  goto(url: string): Promise<void>;
  reload(): Promise<void>;
  /** What a function returns, or promises, in the page; arguments and result as in JSON. */
  evaluate<T, A extends unknown[]>(script: (...args: A) => T | Promise<T>, ...args: A): Promise<T>;
  /** A press of the mouse in the middle of the one element that a CSS selector finds; it is scrolled into sight. */
  click(selector: string): Promise<void>;
  /** Errors on the console and exceptions that nobody caught, so far; none where the browser's driver does not tell. */
  errors: string[];
  /** Ends the browser. */
  close(): Promise<void>;
}
