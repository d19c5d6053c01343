//! Compresses documents by zstd with a dictionary, and decompresses them. All reads and writes of documents use this module.
//!
//! Each document is compressed by itself, so a search decompresses only the documents of its page. A dictionary makes this
//! efficient: it contains the text that many documents share. `training.rs` makes dictionaries. A file may have several. They are
//! numbered from 1, and a compressed document has the number of its dictionary. Number 0 means that a document was compressed
//! without a dictionary.
//!
//! The reader does not trust the bytes. It reserves at most [`MOST_RATIO`] times the size of the compressed document.

use std::sync::{Arc, Mutex, PoisonError};

use redb::{ReadableTable, WriteTransaction};
use zstd::zstd_safe::{CCtx, CParameter, DCtx, get_frame_content_size};

use super::error::Fault;
use super::hot_documents::HotDocuments;
use super::tables::{Body, DICTIONARIES, Stored, checksum_of, dictionary_from_bytes, dictionary_to_bytes};
use crate::json;

/// The compression level of zstd. Level 1 is a tenth faster, but the compressed documents are 5 % larger.
const LEVEL: i32 = 3;

/// The maximum ratio of the size of a document to its compressed size. A document that compresses better is stored plain. So a
/// damaged file cannot make a reader reserve more memory than this multiple of the file.
const MOST_RATIO: usize = 256;

/// The minimum size of a document that is compressed with a dictionary, in bytes.
const LEAST_BYTES: usize = 64;

/// The minimum size of a document that is compressed without a dictionary, in bytes. Smaller documents hardly become smaller, and
/// reading them takes longer.
const LEAST_BYTES_ALONE: usize = 4096;

/// The maximum number of idle decompressors of a dictionary, and of idle compressors.
const MOST_IDLE: usize = 8;

/// The maximum capacity of the buffer of an idle decompressor, in bytes.
const MOST_IDLE_BYTES: usize = 1 << 18;

/// A dictionary that is prepared for use, with the idle contexts of zstd. The default is the empty dictionary.
#[derive(Default)]
pub(super) struct Dictionary {
    /// The number in the file. It is 0 for the empty dictionary, and for a dictionary that is not in the file yet.
    number: u32,
    bytes: Box<[u8]>,
    /// The checksum of `bytes` in the file.
    checksum: [u8; 8],
    decoders: Mutex<Vec<Decoder>>,
    encoders: Mutex<Vec<CCtx<'static>>>,
}

/// A context that decompresses, and its output.
struct Decoder {
    context: DCtx<'static>,
    text: Vec<u8>,
}

impl Dictionary {
    /// Prepares a dictionary. Returns `None` if zstd cannot use it.
    pub(super) fn new(number: u32, bytes: &[u8]) -> Option<Self> {
        let own =
            Self { number, bytes: bytes.into(), checksum: checksum_of(number, bytes), ..Self::default() };
        let decoder = own.new_decoder()?;
        give_back(&own.decoders, decoder);
        Some(own)
    }

    fn new_decoder(&self) -> Option<Decoder> {
        let mut context = DCtx::try_create()?;
        if !self.bytes.is_empty() {
            context.load_dictionary(&self.bytes).ok()?;
        }
        Some(Decoder { context, text: Vec::new() })
    }

    fn new_encoder(&self) -> Option<CCtx<'static>> {
        let mut context = CCtx::try_create()?;
        // The number of the dictionary is stored beside the frame. The frame itself records the size of the document.
        for parameter in [CParameter::CompressionLevel(LEVEL), CParameter::DictIdFlag(false)] {
            context.set_parameter(parameter).ok()?;
        }
        if !self.bytes.is_empty() {
            context.load_dictionary(&self.bytes).ok()?;
        }
        Some(context)
    }

    /// Compresses a document. Returns `None` if the document is to be stored plain, for example because it hardly becomes smaller.
    pub(super) fn encode(&self, text: &str) -> Option<Vec<u8>> {
        let least = if self.bytes.is_empty() { LEAST_BYTES_ALONE } else { LEAST_BYTES };
        if text.len() < least || u32::try_from(text.len()).is_err() {
            return None;
        }
        let mut encoder = take_idle(&self.encoders).or_else(|| self.new_encoder())?;
        // A frame that is not smaller than the text is not used. So a buffer with the length of the text is large enough.
        let mut frame = Vec::with_capacity(text.len());
        encoder.compress2(&mut frame, text.as_bytes()).ok()?;
        give_back(&self.encoders, encoder);
        let pays = frame.len().saturating_add(size_of::<u32>()) < text.len();
        let is_bounded = text.len() <= frame.len().saturating_mul(MOST_RATIO);
        (pays && is_bounded).then_some(frame)
    }

    /// Decompresses a document, and passes it to `take`. Returns `None` for a damaged document.
    fn decode<T>(&self, frame: &[u8], take: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let size = usize::try_from(get_frame_content_size(frame).ok()??).ok()?;
        if size > frame.len().saturating_mul(MOST_RATIO) {
            return None;
        }
        let mut decoder = take_idle(&self.decoders).or_else(|| self.new_decoder())?;
        decoder.text.clear();
        decoder.text.reserve(size);
        decoder.context.decompress(&mut decoder.text, frame).ok()?;
        // The bytes may contain several frames. Then the text is longer than the first frame says.
        if decoder.text.len() != size {
            return None;
        }
        let taken = take(&decoder.text);
        if decoder.text.capacity() <= MOST_IDLE_BYTES {
            give_back(&self.decoders, decoder);
        }
        Some(taken)
    }

    /// Returns the memory of the dictionary and of its idle contexts, in bytes.
    fn size_bytes(&self) -> usize {
        let decoders = self.decoders.lock().unwrap_or_else(PoisonError::into_inner);
        let encoders = self.encoders.lock().unwrap_or_else(PoisonError::into_inner);
        let decoders = decoders.iter().map(|own| own.context.sizeof().saturating_add(own.text.capacity()));
        let encoders = encoders.iter().map(CCtx::sizeof);
        decoders.chain(encoders).fold(self.bytes.len(), usize::saturating_add)
    }
}

impl std::fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dictionary").field("number", &self.number).finish_non_exhaustive()
    }
}

fn take_idle<C>(idle: &Mutex<Vec<C>>) -> Option<C> {
    idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
}

fn give_back<C>(idle: &Mutex<Vec<C>>, context: C) {
    let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
    if idle.len() < MOST_IDLE {
        idle.push(context);
    }
}

/// The dictionaries of a file, in the order of their numbers, and the cache of decompressed documents.
#[derive(Debug, Default)]
pub(super) struct Dictionaries {
    empty: Arc<Dictionary>,
    all: Vec<Arc<Dictionary>>,
    hot: Arc<HotDocuments>,
}

impl Dictionaries {
    /// Reads the dictionaries of a file. Dictionaries that `before` has are not prepared again.
    pub(super) fn read(table: &impl ReadableTable<u32, &'static [u8]>, before: &Self) -> Result<Self, Fault> {
        let count = usize::try_from(table.len()?).unwrap_or(usize::MAX);
        let mut all: Vec<Arc<Dictionary>> = Vec::new();
        for entry in table.iter()? {
            let (number, bytes) = entry?;
            let (number, bytes) = (number.value(), bytes.value());
            // The pages of a damaged file may form a cycle, so the numbers must ascend.
            if number == 0 || all.last().is_some_and(|last| last.number >= number) {
                return Err(Fault::corrupt(format!("the dictionary {number} is not in its place")));
            }
            let known = before.get(number).filter(|known| bytes.starts_with(&known.checksum));
            let own = match known {
                Some(known) => Arc::clone(known),
                None => {
                    let prepared = Dictionary::new(number, dictionary_from_bytes(number, bytes)?);
                    let unusable = || Fault::corrupt(format!("the dictionary {number} cannot be used"));
                    Arc::new(prepared.ok_or_else(unusable)?)
                }
            };
            all.push(own);
        }
        if all.len() != count {
            return Err(Fault::corrupt(format!("{} dictionaries, counted as {count}", all.len())));
        }
        Ok(Self { empty: Arc::clone(&before.empty), all, hot: Arc::clone(&before.hot) })
    }

    fn get(&self, number: u32) -> Option<&Arc<Dictionary>> {
        if number == 0 {
            return Some(&self.empty);
        }
        let at = self.all.binary_search_by_key(&number, |own| own.number).ok()?;
        self.all.get(at)
    }

    /// Returns true if the file has no dictionary.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the dictionary for new documents: the newest one, or the empty one if the file has none.
    pub(super) fn newest(&self) -> &Arc<Dictionary> {
        self.all.last().unwrap_or(&self.empty)
    }

    /// Decodes the document with this document number. Passes its place and its text to `take`.
    pub(super) fn decode<T>(
        &self,
        number: u64,
        bytes: &[u8],
        take: impl FnOnce(u64, &str) -> T,
    ) -> Result<T, Fault> {
        let checksum = Stored::packed_checksum(bytes);
        if let Some(own) = checksum.and_then(|checksum| self.hot.get(number, checksum)) {
            return Ok(take(own.place, &own.text));
        }
        let Stored { place, body } = Stored::from_bytes(number, bytes)?;
        match body {
            Body::Plain(bytes) => Ok(take(place, text(number, bytes)?)),
            Body::Packed { dictionary, frame } => {
                let missing = || Fault::corrupt(format!("no dictionary {dictionary} of document {number}"));
                let own = self.get(dictionary).ok_or_else(missing)?;
                let taken = own.decode(frame, |bytes| {
                    let text = text(number, bytes)?;
                    if let Some(checksum) = checksum {
                        self.hot.was_read(number, checksum, place, text);
                    }
                    Ok(take(place, text))
                });
                let damaged = || Fault::corrupt(format!("document {number} cannot be decompressed"));
                taken.ok_or_else(damaged)?
            }
        }
    }

    /// Compresses a stored document with the newest dictionary. Returns `None` if it is compressed already, if compression does not
    /// make it smaller, or if the document is damaged.
    pub(super) fn repack(&self, number: u64, bytes: &[u8]) -> Option<Vec<u8>> {
        let Ok(Stored { place, body: Body::Plain(plain) }) = Stored::from_bytes(number, bytes) else {
            return None;
        };
        let repacked = encode(Some(self.newest()), number, place, text(number, plain).ok()?);
        (repacked.len() < bytes.len()).then_some(repacked)
    }

    /// Returns the memory of the dictionaries, of their idle contexts and of the cache of documents, in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        let dictionaries = self.all.iter().map(|own| own.size_bytes()).chain([self.hot.size_bytes()]);
        dictionaries.fold(self.empty.size_bytes(), usize::saturating_add)
    }
}

/// Returns the text of a document.
fn text(number: u64, bytes: &[u8]) -> Result<&str, Fault> {
    let not_utf8 = |offset| Fault::corrupt(format!("document {number} is not UTF-8 at byte {offset}"));
    json::text(bytes).map_err(not_utf8)
}

/// Encodes a document. Compresses it with `dictionary`, unless [`Dictionary::encode`] returns `None`. Without a dictionary, the
/// document is stored plain.
pub(super) fn encode(dictionary: Option<&Dictionary>, number: u64, place: u64, text: &str) -> Vec<u8> {
    let packed = dictionary.and_then(|own| Some((own.number, own.encode(text)?)));
    let body = match &packed {
        Some((dictionary, frame)) => Body::Packed { dictionary: *dictionary, frame },
        None => Body::Plain(text.as_bytes()),
    };
    Stored { place, body }.to_bytes(number)
}

/// Makes sure that a dictionary is in the file, and returns its number there. A dictionary that is not in the file yet is stored
/// with the next number.
pub(super) fn add(transaction: &WriteTransaction, dictionary: &Dictionary) -> Result<u32, Fault> {
    if dictionary.bytes.is_empty() {
        return Ok(0);
    }
    let mut table = transaction.open_table(DICTIONARIES)?;
    let own = dictionary_to_bytes(dictionary.number, &dictionary.bytes);
    if table.get(dictionary.number)?.is_some_and(|found| found.value() == own) {
        return Ok(dictionary.number);
    }
    let last = table.last()?.map_or(0, |(number, _)| number.value());
    let number = last.checked_add(1).ok_or_else(|| Fault::corrupt("no number for another dictionary"))?;
    table.insert(number, dictionary_to_bytes(number, &dictionary.bytes).as_slice())?;
    Ok(number)
}

#[cfg(test)]
mod tests;
