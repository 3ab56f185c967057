//! The dictionaries by which records are compressed.
//!
//! The frame header of a record contains the number of its dictionary: number 0, which a header
//! omits, is built in and has the names of fields and their usual values. Others are trained from
//! orders. Their number is a checksum of their content, so that it never refers to other content,
//! whatever earlier state the data was restored to.

use std::cell::RefCell;
use std::fmt;
use std::sync::{LazyLock, OnceLock};

use zstd::zstd_safe::{
    CCtx, CDict, DCtx, DDict, MAGICNUMBER, compress_bound, get_dict_id_from_frame, get_error_name,
    get_frame_content_size, train_from_buffer,
};

use crate::error::{Error, RecordError};

/// The maximum size of a record. An order with a larger one is not stored.
pub(crate) const RECORD_BYTES_MAX: usize = 32 << 20;
/// The compression level with dictionary 0. Negative levels do not compress text without a match:
/// no record has a Huffman table, which takes longer to build than reading the rest. Level 3 saves
/// a twentieth.
const BUILT_IN_LEVEL: i32 = -1;
/// The level with other dictionaries, which include a Huffman table.
const TRAINED_LEVEL: i32 = 3;
/// The size of a dictionary's content. Twice the size saves 2 to 8 %, but some data has too few
/// texts for it, and is then compressed worse.
const CONTENT_BYTES: usize = 16 << 10;
/// The maximum content that is read.
const CONTENT_BYTES_MAX: usize = 4 * CONTENT_BYTES;
/// The position of the number in a content, after the magic number of Zstandard dictionaries.
const NUMBER_PLACE: std::ops::Range<usize> = 4..8;
/// Lower numbers, and those with a 32nd bit, are reserved by the format.
const NUMBER_MIN: u32 = 1 << 15;

/// The content of dictionary 0: what records of all data have in common. It never changes.
pub(super) const BUILT_IN: &[u8] = concat!(
    r#""payStatus":4,"shipmentStatus":4,"payStatus":3,"shipmentStatus":3,"payStatus":2,"#,
    r#""shipmentStatus":2,"payStatus":0,"shipmentStatus":0,"payChannelName":null,"#,
    r#""shipmentTime":null,"cardNumber":null,"phone":null,"tradeStartTime":"2026-01-01 00:00:00","#,
    r#""payEndTime":null,"payEndDate":"2026-01-01 00:00:00","detailVOList":[{"goodsId":"","#,
    r#""goodsName":"","aisleCode":"","count":1,"goodsPrice":0,"salePrice":0,"payAmount":0,"#,
    r#""shipmentStatus":3,"shipmentErrCode":1,"shipmentFailDesc":""}]}"#,
    r#"{"deviceCode":"","currency":"","totalAmount":0,"payAmount":0,"refundAmount":0,"#,
    r#""payStatus":1,"shipmentStatus":1,"payChannelName":"","shipmentTime":"2026-01-01 00:00:00","#,
    r#""cardNumber":null,"phone":null,"tradeStartTime":"2026-01-01 00:00:00","#,
    r#""payEndTime":"2026-01-01 00:00:00","payEndDate":"2026-01-01 00:00:00","#,
    r#""detailVOList":[{"goodsId":"","goodsName":"","aisleCode":"","count":1,"goodsPrice":0,"#,
    r#""salePrice":0,"payAmount":0,"shipmentStatus":1,"shipmentErrCode":0,"#,
    r#""shipmentFailDesc":null},{"goodsId":"","goodsName":"","aisleCode":"","count":1,"#,
    r#""goodsPrice":0,"salePrice":0,"payAmount":0,"shipmentStatus":1,"shipmentErrCode":0,"#,
    r#""shipmentFailDesc":null}]}"#,
)
.as_bytes();

/// A dictionary, prepared for both directions.
pub(crate) struct Dictionary {
    number: u32,
    packing: CDict<'static>,
    unpacking: DDict<'static>,
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dictionary({})", self.number)
    }
}

static BUILT_IN_PREPARED: LazyLock<Option<Dictionary>> =
    LazyLock::new(|| Dictionary::new(0, BUILT_IN, BUILT_IN_LEVEL));

thread_local! {
    /// Zstandard's context, and a frame.
    static UNPACKING: RefCell<Option<(DCtx<'static>, Vec<u8>)>> = const { RefCell::new(None) };
    static PACKING: RefCell<Option<CCtx<'static>>> = const { RefCell::new(None) };
}

/// The dictionaries of the data that a process has read. They are never changed or removed, since
/// records may refer to them for as long as there is data.
#[derive(Debug, Default)]
pub(crate) struct Dictionaries {
    first: OnceLock<Box<Known>>,
}

/// A dictionary, and the one that was read after it.
#[derive(Debug)]
struct Known {
    dictionary: Dictionary,
    next: OnceLock<Box<Known>>,
}

impl Dictionaries {
    /// Returns the dictionary with a number, if it was read. Dictionary 0 is not among them.
    pub(crate) fn get(&self, number: u32) -> Option<&Dictionary> {
        let known = std::iter::successors(self.first.get(), |known| known.next.get());
        known.map(|known| &known.dictionary).find(|dictionary| dictionary.number == number)
    }

    /// Adds a dictionary, unless its content is damaged.
    pub(crate) fn add(&self, number: u32, content: &[u8]) {
        if self.get(number).is_some() || !is_intact(number, content) {
            return;
        }
        let Some(dictionary) = Dictionary::new(number, content, TRAINED_LEVEL) else { return };
        let mut place = &self.first;
        let mut new = Box::new(Known { dictionary, next: OnceLock::new() });
        while let Err(refused) = place.set(new) {
            let Some(known) = place.get() else { return };
            (place, new) = (&known.next, refused);
        }
    }
}

fn is_intact(number: u32, content: &[u8]) -> bool {
    content.len() <= CONTENT_BYTES_MAX
        && number_of(content) == Some(number)
        && content.get(NUMBER_PLACE) == Some(&number.to_le_bytes()[..])
}

/// Returns the number of a dictionary: a checksum of its content, except for the number itself.
fn number_of(content: &[u8]) -> Option<u32> {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(content.get(..NUMBER_PLACE.start)?);
    checksum.update(content.get(NUMBER_PLACE.end..)?);
    Some((checksum.finalize() | NUMBER_MIN) & (u32::MAX >> 1))
}

/// Returns a dictionary for texts like these samples, with its number; `None` if they are too few
/// or too short.
pub(crate) fn train(samples: &[String]) -> Option<(u32, Vec<u8>)> {
    let lengths: Vec<usize> = samples.iter().map(String::len).collect();
    let mut content = Vec::with_capacity(CONTENT_BYTES);
    train_from_buffer(&mut content, samples.concat().as_bytes(), &lengths).ok()?;
    let number = number_of(&content)?;
    content.get_mut(NUMBER_PLACE)?.copy_from_slice(&number.to_le_bytes());
    Some((number, content))
}

impl Dictionary {
    /// Returns dictionary 0.
    pub(crate) fn built_in() -> Result<&'static Dictionary, Error> {
        BUILT_IN_PREPARED.as_ref().ok_or_else(no_memory)
    }

    fn new(number: u32, content: &[u8], level: i32) -> Option<Dictionary> {
        Some(Dictionary {
            number,
            packing: CDict::try_create(content, level)?,
            unpacking: DDict::try_create(content)?,
        })
    }

    /// Returns whether this is dictionary 0.
    pub(crate) fn is_built_in(&self) -> bool {
        self.number == 0
    }

    /// Compresses a text to a frame.
    pub(super) fn pack(&self, text: &[u8]) -> Result<Vec<u8>, Error> {
        PACKING.with_borrow_mut(|context| {
            let context = match context {
                Some(context) => context,
                None => context.insert(CCtx::try_create().ok_or_else(no_memory)?),
            };
            let mut frame = Vec::with_capacity(compress_bound(text.len()));
            context.compress_using_cdict(&mut frame, text, &self.packing).map_err(|code| {
                Error::Data(format!("compressing an order: {}", get_error_name(code)))
            })?;
            frame.shrink_to_fit();
            Ok(frame)
        })
    }
}

fn no_memory() -> Error {
    Error::Data("Zstandard has no memory".to_owned())
}

/// Appends the text of a packed record, whose first four bytes are not read.
pub(super) fn unpack(
    record: &[u8],
    dictionaries: &Dictionaries,
    out: &mut Vec<u8>,
) -> Result<(), RecordError> {
    UNPACKING.with_borrow_mut(|context| {
        let (context, frame) = match context {
            Some(context) => context,
            None => {
                let made = DCtx::try_create().ok_or(RecordError::Text)?;
                context.insert((made, Vec::new()))
            }
        };
        frame.clear();
        frame.extend_from_slice(&MAGICNUMBER.to_le_bytes());
        frame.extend_from_slice(record.get(size_of_val(&MAGICNUMBER)..).unwrap_or_default());
        let length = get_frame_content_size(frame).ok().flatten().ok_or(RecordError::Text)?;
        let checked = usize::try_from(length).ok().filter(|length| *length <= RECORD_BYTES_MAX);
        let length = checked.ok_or(RecordError::Length(length))?;
        let dictionary = match get_dict_id_from_frame(frame).map_or(0, Into::into) {
            0 => BUILT_IN_PREPARED.as_ref().ok_or(RecordError::Text)?,
            number => dictionaries.get(number).ok_or(RecordError::Dictionary(number))?,
        };
        let start = out.len();
        out.resize(start + length, 0);
        let place = out.get_mut(start..).unwrap_or_default();
        let unpacked = context.decompress_using_ddict(place, frame, &dictionary.unpacking);
        if unpacked == Ok(length) { Ok(()) } else { Err(RecordError::Text) }
    })
}
