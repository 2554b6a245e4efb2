/** Time that the object URL is kept, long enough for the browser to begin the download. */
const KEPT_MS = 60_000;

/** Saves bytes as a file on the viewer's machine. The browser never opens them, whatever they contain. */
export function downloadFile(name: string, blob: Blob): void {
  const url = URL.createObjectURL(new Blob([blob], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name.replaceAll(/[/\\]/g, '_');
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}
